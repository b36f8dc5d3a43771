"""Who gave a failed task its log back: the answers that reached it, as the recording's events tell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

from ingest.lake.readers import Lake

_SQL = """
SELECT "of", attempt, channel, result, logs, t_us
FROM events WHERE type = 'determinants-received' AND "at" = "of" ORDER BY n
"""


@dataclass(frozen=True, slots=True)
class Answer:
    task: str
    attempt: int | None
    channel: str
    result: str
    own_bytes: int
    t_us: int

    @property
    def holder(self) -> str:
        return self.channel.partition(">")[2]


def answers(lake: Lake, *, job: str) -> list[Answer]:
    """Every answer that a failed task took, with how many bytes of its own logs it carried."""
    return [
        Answer(task, attempt, channel or "", result or "", own_log_bytes(task, logs), t_us)
        for task, attempt, channel, result, logs, t_us in lake.rows(_SQL, job=job)
    ]


def own_log_bytes(task: str, logs: str | None) -> int:
    """`logs` is a list of [task, thread, epoch, upto]; what is not in that shape counts for nothing."""
    try:
        listed = json.loads(logs or "[]")
    except ValueError:
        return 0
    if not isinstance(listed, list):
        return 0
    return sum(
        entry[3]
        for entry in listed
        if isinstance(entry, list) and len(entry) == 4 and entry[0] == task and isinstance(entry[3], int)
    )


def latest_round(given: list[Answer], task: str, attempt: int | None) -> list[Answer]:
    """For one recovery: the last answer of each channel, for a second one replaces the first."""
    last: dict[str, Answer] = {}
    for answer in given:
        if answer.task == task and (attempt is None or answer.attempt in (None, attempt)):
            last[answer.channel] = answer
    return sorted(last.values(), key=lambda answer: (-answer.own_bytes, answer.channel))


def is_uneven(round_of_answers: list[Answer]) -> bool:
    """True where holders had different amounts, so that the longest mattered."""
    return any(one.own_bytes != other.own_bytes for one, other in pairwise(round_of_answers))
