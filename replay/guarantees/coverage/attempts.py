"""One attempt executed again from its own log: how far it came, what it agreed with, and what it asked past the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from replay.bundle.members import parse_member
from replay.debugger.agreeing.lacking import lack_of_attempt
from replay.debugger.hunting.readings import Moment, Readings
from replay.debugger.hunting.watched import Hunt
from replay.debugger.outcome import Outcome
from replay.debugger.ports import NoSteps, RecordingSource, Told
from replay.debugger.recorded.scene import Operators
from replay.debugger.replay import replay
from replay.errors import ReplayError
from replay.jobs.registry import new_operator
from replay.model import TaskId

BEFORE = -1
"""In place of an epoch: what is asked while an operator is imported, made, opened or given its state."""
_BEFORE_RECORDS = ("import", "open", "restore")
MOST_CALLS = 20
"""More calls of one epoch are not listed."""
_AT_WORK = frozenset(("take-buffer", "deliver-record", "take-determinant", "fire-async", "cut-buffer", "snapshot"))


class Calls(Readings):
    """What an operator asked past its context, by epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.by_epoch: dict[int, dict[tuple[str, str, int], str]] = {}

    def note(self, kind: str, call: str, place: tuple[str, int], through: str, moment: Moment, detail: str) -> None:
        """It happened once more."""
        super().note(kind, call, place, through, moment, detail)
        epoch = BEFORE if moment.call in _BEFORE_RECORDS else moment.epoch
        known = self.by_epoch.setdefault(epoch, {})
        if len(known) < MOST_CALLS:
            known.setdefault((call, *place), kind)


@dataclass(slots=True)
class Reached(NoSteps):
    """A step sink that only knows how far the execution came."""

    epoch: int | None = None

    def step(self, told: Told) -> None:
        """The epoch of what was done last."""
        if told[1].kind in _AT_WORK:
            self.epoch = told[3]


@dataclass(frozen=True, slots=True)
class Executed:
    """`reached`: the epoch in which it ended; None where nothing was executed. `at`: the epoch of a divergence;
    `lacks`: a member that is gone, so that what agreed before it may not have been compared."""

    outcome: Outcome | None
    reached: int | None
    calls: dict[int, dict[tuple[str, str, int], str]] = field(default_factory=dict)
    fault: str = ""
    at: int | None = None
    lacks: str = ""

    @property
    def agrees(self) -> bool:
        """Whether all came out as recorded, and nothing is missing that could show otherwise."""
        return self.outcome is not None and self.outcome.verdict == "identical"


def executed(
    source: RecordingSource, task: str, attempt: int, *, listen: bool, cancelled: Callable[[], bool] | None = None
) -> Executed:
    """Runs one; whatever can't be read of it is said, and is not the end of all others."""
    reached, calls, hunt = Reached(), Calls(), Hunt(lambda: 0)
    hunt.readings = calls
    operators: Operators = hunt.operator if listen else new_operator
    try:
        outcome = replay(source, task=task, attempt=attempt, sink=reached, operators=operators, cancelled=cancelled)
    except ReplayError as fault:
        return Executed(None, reached.epoch, calls.by_epoch, str(fault))
    lack = lack_of_attempt(source, TaskId(task), attempt) if outcome.verdict == "diverged" else None
    lacks = "" if lack is None else lack.member
    return Executed(outcome, reached.epoch, calls.by_epoch, at=_epoch_of(outcome, task, attempt), lacks=lacks)


def _epoch_of(outcome: Outcome, task: str, attempt: int) -> int | None:
    """Where it diverged, if that is of this attempt."""
    detail = outcome.detail
    member = parse_member(str(detail.get("member", "")))
    if member.task is not None and (member.task, member.attempt) != (task, attempt):
        return None
    epoch = detail.get("epoch", member.epoch)
    return epoch if type(epoch) is int else None
