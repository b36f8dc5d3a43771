"""Who gave a failed task its log back: the answers that reached it, as the recording's events tell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ingest.lake.readers import Lake

_SQL = """
SELECT type, coalesce("of", "at", task), attempt, channel, result, logs, t_us
FROM events
WHERE (type = 'determinants-received' AND "at" = "of")
   OR (type = 'channel-lost' AND side = 'output')
   OR (type = 'recovery-state' AND "to" = 'Replaying')
ORDER BY n
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
    """The answers that an attempt began to replay with, with how many bytes of the task's own logs each carried."""
    return counted(lake.rows(_SQL, job=job))


def counted(events: Iterable[tuple[Any, ...]]) -> list[Answer]:
    """Of asks that were repeated, as a failure elsewhere voids what was answered: the round that counted.

    The last answer on a channel replaces the one before, and the loss of a channel voids what had come on it; what
    comes once an attempt replays changes nothing for it.
    """
    rounds: dict[tuple[str, int | None], dict[str, Answer]] = {}
    closed: set[tuple[str, int | None]] = set()
    for kind, task, attempt, channel, result, logs, t_us in events:
        whose = task, attempt
        if kind == "recovery-state":
            closed.add(whose)
        elif whose in closed:
            continue
        elif kind == "channel-lost":
            rounds.get(whose, {}).pop(channel or "", None)
        else:
            answer = Answer(task, attempt, channel or "", result or "", own_log_bytes(task, logs), t_us)
            rounds.setdefault(whose, {})[answer.channel] = answer
    return [answer for of_attempt in rounds.values() for answer in of_attempt.values()]


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
    """Those of one recovery: of that attempt, or of the latest one that was answered; the most bytes first."""
    of_task = [answer for answer in given if answer.task == task]
    numbers = [answer.attempt for answer in of_task if answer.attempt is not None]
    wanted = max(numbers, default=None) if attempt is None else attempt
    found = [answer for answer in of_task if answer.attempt in (None, wanted)]
    return sorted(found, key=lambda answer: (-answer.own_bytes, answer.channel))


def is_uneven(round_of_answers: list[Answer]) -> bool:
    """True where holders had different amounts, so that the longest mattered."""
    return any(one.own_bytes != other.own_bytes for one, other in pairwise(round_of_answers))
