"""Whether a new execution came to the state of the one before: where both took a snapshot of one checkpoint, or where,
executed again from their logs, the new one has processed just the records that the old one had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.execution import Execution
from replay.debugger.executing.verify import operator_of, plan_of_attempt
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError
from replay.guarantees.recovery_types.scene import Recovered
from replay.guarantees.recovery_types.streams import digest
from replay.model import Record, json_bytes
from replay.runtime.operators import Context, Operator
from replay.runtime.operators.surrounded import Surrounded

T = TypeVar("T")
MOST_BYTES = 16 << 20
"""Attempts whose members have more are not executed for it."""
_COMPARED = ("operator", "timers")


@dataclass(frozen=True, slots=True)
class Met:
    """In one place: whether both states are the same there."""

    where: str
    same: bool
    evidence: tuple[str, ...]


def met(source: RecordingSource, story: Story, one: Recovered) -> Met | None:
    """None where nothing tells."""
    return _at_a_checkpoint(source, one) or _executed(source, story, one)


def _at_a_checkpoint(source: RecordingSource, one: Recovered) -> Met | None:
    """The last of which both took a snapshot."""
    own = {epoch for epoch in source.epochs(one.task, one.attempt, "state") if epoch > one.checkpoint}
    for checkpoint in sorted(own, reverse=True):
        for other in one.before:
            if checkpoint in source.epochs(one.task, other, "state"):
                states = [source.state(one.task, attempt, checkpoint) for attempt in (other, one.attempt)]
                said = [json_bytes([(state or {}).get(name) for name in _COMPARED]) for state in states]
                evidence = tuple(f"state:{one.task}/{attempt}/{checkpoint}" for attempt in (other, one.attempt))
                return Met(f"at checkpoint {checkpoint}", said[0] == said[1], evidence)
    return None


# --- executed again ---


@dataclass(slots=True)
class _Done:
    """How many records were processed since the checkpoint, and a sum of them that knows no order; and all else."""

    records: int = 0
    total: int = 0
    others: int = 0

    def began(self) -> None:
        """The epoch that the checkpoint began."""
        self.records = self.total = self.others = 0


class _Counting(Surrounded):
    """Tells `looks` after each record."""

    def __init__(self, operator: Operator, looks: Callable[[_Done, Operator], None]):
        super().__init__(operator)
        self.done = _Done()
        self._looks = looks

    def called(self, method: str, action: Callable[[], T]) -> T:
        """Timers and watermarks are counted."""
        self.done.others += method in ("on_timer", "on_watermark")
        return action()

    def on_record(self, record: Record, context: Context) -> None:
        """As the operator; then it is counted."""
        super().on_record(record, context)
        self.done.records += 1
        self.done.total += int.from_bytes(digest(json_bytes(record.to_json())))
        self._looks(self.done, self.operator)


class _Beginning(Bystander):
    """Knows when the epoch begins from which on is counted."""

    def __init__(self, counting: _Counting, epoch: int):
        self._counting, self._epoch = counting, epoch

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""
        if epoch == self._epoch:
            self._counting.done.began()


def _executed(source: RecordingSource, story: Story, one: Recovered) -> Met | None:
    """The new attempt, at the record with which it has processed what the old one had when it failed."""
    if not one.before or not source.manifest.protocol.logs:
        return None
    old = one.before[0]
    try:
        last = _run(source, story, one, old, lambda done, operator: None)
        wanted, state = (last.done.records, last.done.total), json_bytes(last.operator.snapshot())
        found: list[tuple[bool, int]] = []

        def looks(done: _Done, operator: Operator) -> None:
            if (done.records, done.total) == wanted:
                found.append((json_bytes(operator.snapshot()) == state, done.others))

        _run(source, story, one, one.attempt, looks)
    except (Missing, DivergenceFound, ReplayError):
        return None
    if not found or (not found[0][0] and (found[0][1] or last.done.others)):
        return None  # timers and watermarks that come in between may be all that makes them differ
    evidence = tuple(f"log:{one.task}/{attempt}/main/{one.checkpoint}@0" for attempt in (old, one.attempt))
    return Met(f"after the same {wanted[0]:,} records, executed again from their logs,", found[0][0], evidence)


def _run(
    source: RecordingSource, story: Story, one: Recovered, attempt: int, looks: Callable[[_Done, Operator], None]
) -> _Counting:
    prefix = f"tasks/{one.task}/{attempt}/"
    if sum(source.members.size(name) for name in source.members.names(prefix)) > MOST_BYTES:
        raise Missing(f"attempt {attempt} of {one.task} is too large to be executed for it")
    counting = _Counting(operator_of(source, one.task), looks)
    plan = plan_of_attempt(source, story, one.task, attempt)
    execution = Execution(source, plan, counting, _Beginning(counting, one.checkpoint))
    execution.start()
    counting.done.began()
    while execution.step():
        pass
    return counting
