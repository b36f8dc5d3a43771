"""Numbers and writes steps; knows where the replayed task stands, so that every step says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from replay.debugger.diverging.findings import Findings
from replay.debugger.outcome import Cancelled
from replay.debugger.ports import StepRow, StepSink
from replay.debugger.writing.taken import facts_of
from replay.log.determinants import Determinant
from replay.model import MAIN

Progress = Callable[[str, int, int | None, str], None]
"""(phase, done, total or None, unit)"""

_LOOK_UP_EVERY = 256
# The very first step is seen at once, however long the second one takes to come.
_FLUSHES = (0, 64)
_new_row = tuple.__new__


@dataclass(slots=True)
class StepWriter:
    """`state`, `epoch`, `record_count` and `t_us` are the task's, kept by whoever drives the replay.

    `open_after`: a step of which the recording does not say that it came before the one that is written next.
    """

    sink: StepSink
    task: str
    progress: Progress | None = None
    cancelled: Callable[[], bool] | None = None
    state: str = "Standby"
    epoch: int = 0
    record_count: int = 0
    t_us: int = 0
    count: int = 0
    open_after: int | None = None
    last: dict[str, int] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)

    def write(
        self,
        kind: str,
        text: str,
        *,
        actor: str = MAIN,
        causes: Iterable[str] = (),
        log: str | None = None,
        log_offset: int | None = None,
        channel: str | None = None,
        buffer: int | None = None,
        size: int | None = None,
    ) -> int:
        """Writes a step and its causes; returns its number."""
        step = self.count
        self.count = step + 1
        self.last[kind] = step
        self.said[kind] = text
        stands = self.task, actor, kind, self.state, self.epoch, self.record_count, self.t_us
        # As StepRow(…) does, in half the time: this is done for every step.
        row = _new_row(StepRow, (step, *stands, log, log_offset, channel, buffer, size, text))
        sink = self.sink
        sink.step(row)
        for cause in causes:
            sink.cause(step, cause)
        if self.open_after is not None:
            sink.open_order(step, self.open_after)
            self.open_after = None
        if step in _FLUSHES:
            sink.flush()
        if step % _LOOK_UP_EVERY == 0:
            self.look_up()
        return step

    @property
    def latest(self) -> int | None:
        """The last step of this task."""
        return max(self.last.values(), default=None)

    def changed(self, step: int, key: str, before: str | None, after: str | None) -> None:
        """A key of the task's state changed at that step."""
        self.sink.state_change(step, self.task, key, before, after)

    def took(self, step: int, determinant: Determinant) -> None:
        """The determinant that this step took from the log."""
        self.sink.taken(step, self.task, determinant.kind, *facts_of(determinant))

    def caused_by(self, *kinds: str) -> tuple[str, ...]:
        """The last step of each of these kinds, as causes."""
        last = self.last
        return tuple([f"step:{last[kind]}" for kind in kinds if kind in last])

    def look_up(self) -> None:
        """Tells how far it is, and stops where nobody wants it any more."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled
        if self.progress is not None:
            self.progress("replaying", self.count, None, "steps")
