"""Where in its parent a fork begins: the step as the parent wrote it, and the determinant that is taken there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from replay.debugger.ports import BufferRow, Change, Step, StepRow, StepSink, Told
from replay.errors import WrongSetting

ESCALATES = "Gives up recovering by itself"
_TAKES = ("take-determinant", "fire-async")


@dataclass(frozen=True, slots=True)
class ForkPlace:
    """`row` is the step that is forked; `thread`, `epoch` and `offset` say where its determinant stands.

    `own`: no log says it, the task chose it for itself, as a fork does that has left its log; what it chose is of the
    kind `determinant`. `asked`: the step that was named, which is what its determinant leads to, or `row` itself.
    """

    row: StepRow
    answered: frozenset[str]
    merged: bool
    own: bool = False
    determinant: str | None = None
    asked: int = 0

    @property
    def step(self) -> int:
        """The number of the step."""
        return self.row.step

    @property
    def thread(self) -> str:
        """Whose log the determinant stands in."""
        return self.row.log or ""

    @property
    def epoch(self) -> int:
        """In which epoch of it."""
        return self.row.epoch

    @property
    def offset(self) -> int:
        """And at which offset."""
        return self.row.log_offset if self.row.log_offset is not None else -1


@dataclass(slots=True)
class PlaceFinder:
    """A step sink in front of another: finds what stands around a step of the parent."""

    inner: StepSink
    wanted: int
    found: ForkPlace | None = None
    steps: int = 0
    rows: dict[int, StepRow] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)
    _merged: bool = False
    _last: StepRow | None = None
    _take: StepRow | None = None

    def step(self, told: Told) -> None:
        """A row of `steps`, and its causes."""
        self.inner.step(told)
        row = Step._make(told).row()
        self.steps = row.step + 1
        if row.step <= self.wanted:
            escalates = row.kind == "transition" and row.text.startswith(ESCALATES)
            if row.kind == "merge" or escalates or row.state in ("Replaying", "Running"):
                self._merged = True
            if row.kind in _TAKES:
                self._last = row
            elif row.kind == "take-buffer":
                self._take = row
            elif row.kind != "append":
                self._last = None
        if row.step == self.wanted:
            self._find(row)
        if row.step <= self.wanted and row.kind == "answer" and row.channel is not None:
            self._answered.add(row.channel)

    def _find(self, row: StepRow) -> None:
        """The determinant of a delivery comes just before the buffer that it names, and what is appended again is
        taken just before; what nothing was taken for is the task's own choice."""
        at, last = row, self._last
        if row.kind == "take-buffer" and last is not None:
            at = last
        elif row.kind == "append":
            taken = last is not None and (last.epoch, last.log_offset) == (row.epoch, row.log_offset)
            at = last if taken and last is not None else row
        own = at.kind in ("append", "take-buffer")
        self.found = ForkPlace(at, frozenset(self._answered), self._merged, own, asked=row.step)

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        """Rows of `state_changes`."""
        self.inner.state_changes(step, task, changes)

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """A row of `taken`."""
        self.inner.taken(step, task, determinant, value, name)
        if step == self.wanted and self.found is not None:
            self.found = replace(self.found, determinant=determinant)
            if self.found.row.kind == "append" and determinant == "order" and self._take is not None:
                # Of a delivery that no log orders, the buffer is taken first.
                self.found = replace(self.found, row=self._take)

    def buffer(self, row: BufferRow) -> None:
        """A row of `buffers`."""
        self.inner.buffer(row)

    def open_order(self, step: int, before: int) -> None:
        """A row of `open_orders`."""
        self.inner.open_order(step, before)

    def flush(self) -> None:
        """Nobody looks."""

    def place(self) -> ForkPlace:
        """Raises where the parent has no such step."""
        if self.found is None:
            raise WrongSetting(
                f"the replay has no step {self.wanted} to fork at, with which it does something",
                remedy=f"Such steps go from 0 to {self.steps - 1}" if self.steps else "It has none at all",
            )
        return self.found
