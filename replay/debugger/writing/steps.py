"""Numbers and writes steps; knows where the replayed task stands, so that every step says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from replay.debugger.diverging.findings import Findings
from replay.debugger.outcome import Cancelled
from replay.debugger.ports import Change, StepForm, StepSink, Told
from replay.debugger.writing.sentences import Values
from replay.debugger.writing.taken import facts_of
from replay.log.determinants import Determinant, Timestamp
from replay.model import MAIN

Progress = Callable[[str, int, int | None, str], None]
"""(phase, done, total or None, unit)"""

_PAUSE_EVERY = 64
_LOOK_UP_EVERY = 256
# The very first step is seen at once, however long the second one takes to come.
_FLUSHES = (0, 64)


@dataclass(slots=True)
class StepWriter:
    """`state`, `epoch`, `record_count` and `t_us` are the task's, kept by whoever drives the replay.

    `open_after`: a step of which the recording does not say that it came before the one that is written next.
    `told`: the last step of each kind.
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
    told: dict[str, Told] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)
    _forms: dict[tuple[str, str, str | None, str | None], StepForm] = field(default_factory=dict)

    def write(
        self,
        kind: str,
        text: str,
        *,
        actor: str = MAIN,
        causes: Iterable[str] = (),
        of_steps: tuple[int, ...] = (),
        log: str | None = None,
        log_offset: int | None = None,
        channel: str | None = None,
        buffer: int | None = None,
        size: int | None = None,
    ) -> int:
        """Writes a step that is put into words already, and its causes; returns its number."""
        form = self.form(kind, actor, log, channel)
        return self.say(form, (text,), of_steps, tuple(causes), log_offset, buffer, size)

    def form(self, kind: str, actor: str = MAIN, log: str | None = None, channel: str | None = None) -> StepForm:
        """Of steps that are put into words already."""
        named = kind, actor, log, channel
        if named not in self._forms:
            self._forms[named] = StepForm(self.task, actor, kind, log, channel)
        return self._forms[named]

    def say(
        self,
        form: StepForm,
        values: Values,
        of_steps: tuple[int, ...] = (),
        of_others: tuple[str, ...] = (),
        log_offset: int | None = None,
        buffer: int | None = None,
        size: int | None = None,
    ) -> int:
        """Writes a step of a form that was made before, for those of which there are many; returns its number."""
        step = self.count
        self.count = step + 1
        told: Told = (
            step, form, self.state, self.epoch, self.record_count, self.t_us,
            log_offset, buffer, size, values, of_steps, of_others,
        )  # fmt: skip
        self.told[form.kind] = told
        self.sink.step(told)
        if self.open_after is not None:
            self.sink.open_order(step, self.open_after)
            self.open_after = None
        if step % _PAUSE_EVERY == 0:
            self._pause(step)
        return step

    def _pause(self, step: int) -> None:
        if step in _FLUSHES:
            self.sink.flush()
        if step % _LOOK_UP_EVERY == 0:
            self.look_up()

    @property
    def latest(self) -> int | None:
        """The last step of this task."""
        return max((told[0] for told in self.told.values()), default=None)

    def changed(self, step: int, changes: Sequence[Change]) -> None:
        """Keys of the task's state changed at that step."""
        self.sink.state_changes(step, self.task, changes)

    def took(self, step: int, determinant: Determinant) -> None:
        """The determinant that this step took from the log."""
        if type(determinant) is Timestamp:  # nearly all are
            self.sink.taken(step, self.task, Timestamp.kind, determinant.value, None)
            return
        value, name = facts_of(determinant)
        self.sink.taken(step, self.task, determinant.kind, value, name)

    def last(self, kind: str) -> tuple[int, ...]:
        """The last step of that kind, where there is one."""
        told = self.told.get(kind)
        return () if told is None else (told[0],)

    def caused_by(self, *kinds: str) -> tuple[str, ...]:
        """The last step of each of these kinds, as causes."""
        told = self.told
        return tuple([f"step:{told[kind][0]}" for kind in kinds if kind in told])

    def look_up(self) -> None:
        """Tells how far it is, and stops where nobody wants it any more."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled
        if self.progress is not None:
            self.progress("replaying", self.count, None, "steps")
