"""External calls that changed something outside, and that were made again after an execution was undone.

A log does not hold what a call asked for. So a call made again is told by its number: the so-and-so-many-th of its name
since the beginning, as the task's executions count them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.debugger.ports import RecordingSource
from replay.guarantees.ledger.executions import Executions, Path
from replay.log.determinants import Serializable
from replay.model import MAIN
from replay.services.external import call_fields


class Call(NamedTuple):
    """A call as one attempt logged it; `live`: it was really made then, and not answered from a returned log."""

    name: str
    attempt: int
    epoch: int
    seq: int
    live: bool


@dataclass(slots=True)
class Calls:
    """Of one task. `again`: by name and number, the calls that were made more than once, and where."""

    task: str
    made: int = 0
    again: dict[tuple[str, int], list[Call]] = field(default_factory=dict)

    def evidence(self, those: list[Call]) -> tuple[str, ...]:
        """The determinants of what they answered."""
        return tuple(f"det:{self.task}/{one.attempt}/{MAIN}/{one.epoch}#{one.seq}" for one in those)


def calls_of(source: RecordingSource, executions: Executions, task: str) -> Calls:
    """Raises where a log can't be read."""
    found, made = (
        Calls(task),
        {attempt: list(_calls(source, executions, task, attempt)) for attempt in executions.attempts(task)},
    )
    numbered: dict[tuple[str, int], list[Call]] = {}
    for attempt, calls in made.items():
        counts = _made_before(made, executions.path(task, attempt))
        for one in calls:
            if one.live:
                numbered.setdefault((one.name, counts[one.name]), []).append(one)
            counts[one.name] += 1
    found.made = sum(len(those) for those in numbered.values())
    found.again = {key: those for key, those in sorted(numbered.items()) if len(those) > 1}
    return found


def _made_before(made: dict[int, list[Call]], path: Path) -> Counter[str]:
    """How many calls of each name the executions before an attempt's own had made."""
    return Counter(one.name for segment in path[:-1] for one in made.get(segment.attempt, ()) if segment.has(one.epoch))


def _calls(source: RecordingSource, executions: Executions, task: str, attempt: int) -> Iterator[Call]:
    returned = executions.story.returned_to(task, attempt)
    for epoch in source.epochs(task, attempt, MAIN):
        upto = returned.get((MAIN, epoch), 0)
        for seq, (offset, _, one) in enumerate(source.determinants(task, attempt, MAIN, epoch)):
            if not isinstance(one, Serializable):
                continue
            fields = call_fields(one) or {}
            if fields.get("effect") == "write":
                yield Call(str(fields.get("name", fields.get("call"))), attempt, epoch, seq, offset >= upto)
