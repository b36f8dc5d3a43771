"""An operator beside itself: one with its state, one that begins empty at a checkpoint, both given the same. Where the
second gives something else, the output does not follow from the record alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.execution import Execution
from replay.debugger.executing.partings import check_machine
from replay.debugger.executing.verify import operator_of, plan_of_attempt
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError, printable
from replay.guarantees.recovery_types.classes import Against
from replay.model import MAIN, Record, TaskId, json_bytes
from replay.runtime.operators import Context, Operator, Timer
from replay.runtime.operators.surrounded import Surrounded

MOST_BYTES = 16 << 20
"""Attempts whose members have more are not executed for it."""
_FEWEST_OUTPUTS = 2


class Asks(Exception):
    """The empty one asked for what only the log could tell it: nothing can be said then."""


class _Noted:
    """A context as it is, but that what is given is noted; the empty one's goes nowhere else."""

    def __init__(self, context: Any, *, passes_on: bool):
        self._context, self._passes_on = context, passes_on
        self.given: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        if not self._passes_on and name in ("clock", "random", "external"):
            raise Asks(name)
        return getattr(self._context, name)

    def emit(self, record: Record) -> None:
        """Noted."""
        self._note("emit", record)

    def write(self, record: Record) -> None:
        """Noted."""
        self._note("write", record)

    def _note(self, how: str, record: Record) -> None:
        self.given.append(json_bytes([how, *record[:3]]))
        if self._passes_on:
            getattr(self._context, how)(record)

    def set_timer(self, *arguments: Any, **named: Any) -> None:
        """Those that fire are those of the one with its state."""
        if self._passes_on:
            self._context.set_timer(*arguments, **named)

    def cancel_timer(self, *arguments: Any, **named: Any) -> None:
        """Likewise."""
        if self._passes_on:
            self._context.cancel_timer(*arguments, **named)


@dataclass(slots=True)
class Seen:
    """`records` since the empty one began; `outputs`: how often either gave anything; epochs of those that differ."""

    records: int = 0
    outputs: int = 0
    first: int | None = None
    last_differs: bool = False
    epoch: int = 0


class _Beside(Surrounded):
    """Gives the operator's calls to an empty one too, once that is there."""

    def __init__(self, operator: Operator, fresh: Callable[[], Operator], seen: Seen):
        super().__init__(operator)
        self._fresh, self._seen = fresh, seen
        self._empty: Operator | None = None
        self._opened: Any = None

    def called(self, method: str, action: Callable[[], Any]) -> Any:
        """Nothing is around it."""
        return action()

    def begin(self) -> None:
        """From here on."""
        if self._empty is None:
            self._empty = self._fresh()
            self._empty.open(_Noted(self._opened, passes_on=False))

    def open(self, context: Context) -> None:
        """Kept for the other one."""
        self._opened = context
        super().open(context)

    def on_record(self, record: Record, context: Context) -> None:
        """To both."""
        self._seen.records += self._empty is not None
        self._both(context, lambda operator, noted: operator.on_record(record, noted))

    def on_timer(self, timer: Timer, context: Context) -> None:
        """To both."""
        self._both(context, lambda operator, noted: operator.on_timer(timer, noted))

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """To both."""
        self._both(context, lambda operator, noted: operator.on_watermark(watermark_ms, noted))

    def _both(self, context: Context, call: Callable[[Operator, Any], None]) -> None:
        noted = _Noted(context, passes_on=True)
        call(self.operator, noted)
        if self._empty is None:
            return
        other, seen = _Noted(context, passes_on=False), self._seen
        call(self._empty, other)
        if noted.given or other.given:
            seen.outputs += 1
            seen.last_differs = noted.given != other.given
            if seen.last_differs and seen.first is None:
                seen.first = seen.epoch


class _Epochs(Bystander):
    """Begins with the first barrier that is passed."""

    def __init__(self, beside: _Beside, seen: Seen):
        self._beside, self._seen = beside, seen

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""
        self._seen.epoch = epoch
        self._beside.begin()


@dataclass(frozen=True, slots=True)
class Beside:
    """`against`: what is refuted. `open`: how long it went on otherwise, if it did so to the end: a recording ends, so
    that this refutes nothing."""

    against: Against | None = None
    open: str = ""


def beside_itself(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> Beside:
    """What an attempt's execution, from its own log, shows of its operator; nothing where it can't be executed."""
    prefix = f"tasks/{task}/{attempt}/"
    if sum(source.members.size(name) for name in source.members.names(prefix)) > MOST_BYTES:
        return Beside()
    seen = Seen()
    try:
        _run(source, story, task, attempt, seen)
    except (Missing, DivergenceFound, ReplayError, Asks):
        return Beside()
    except (Exception, SystemExit) as fault:  # the edge: one that lacks its state may raise anything
        check_machine(fault)
        return Beside()
    if seen.outputs < _FEWEST_OUTPUTS or seen.first is None:
        return Beside()
    said = f"{printable(task)}, begun empty at a checkpoint, made something else"
    found = Against("repeatable", said, (f"log:{task}/{attempt}/{MAIN}/{seen.first}@0",))
    return Beside(found, f"{said} to the end, {seen.records:,} records on" if seen.last_differs else "")


def _run(source: RecordingSource, story: Story, task: TaskId, attempt: int, seen: Seen) -> None:
    plan = plan_of_attempt(source, story, task, attempt)
    beside = _Beside(operator_of(source, task), lambda: operator_of(source, task), seen)
    execution = Execution(source, plan, beside, _Epochs(beside, seen))
    seen.epoch = plan.checkpoint
    if plan.checkpoint:
        beside.begin()
    execution.start()
    while execution.step():
        pass
