"""Where in its parent a fork begins: the step as the parent wrote it, and the determinant that is taken there."""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.debugger.ports import BufferRow, StepRow, StepSink
from replay.errors import WrongSetting

ESCALATES = "Gives up recovering by itself"
_TAKES = ("take-determinant", "fire-async")


@dataclass(frozen=True, slots=True)
class ForkPlace:
    """`row` is the step that is forked; `thread`, `epoch` and `offset` say where its determinant stands."""

    row: StepRow
    answered: frozenset[str]
    merged: bool
    determinant: str | None = None

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
    _kinds: dict[int, str] = field(default_factory=dict)
    _last: StepRow | None = None

    def step(self, row: StepRow) -> None:
        """A row of `steps`."""
        self.inner.step(row)
        self.steps = row.step + 1
        if row.step <= self.wanted:
            escalates = row.kind == "transition" and row.text.startswith(ESCALATES)
            if row.kind == "merge" or escalates or row.state in ("Replaying", "Running"):
                self._merged = True
            if row.kind in _TAKES:
                self._last = row
            elif row.kind != "take-buffer":
                self._last = None
        if row.step == self.wanted:
            # The determinant of a delivery comes just before the buffer that it names.
            at = self._last if row.kind == "take-buffer" and self._last is not None else row
            self.found = ForkPlace(at, frozenset(self._answered), self._merged)
        if row.step <= self.wanted and row.kind == "answer" and row.channel is not None:
            self._answered.add(row.channel)

    def cause(self, step: int, cause: str) -> None:
        """A row of `causes`."""
        self.inner.cause(step, cause)

    def state_change(self, step: int, task: str, key: str, before: str | None, after: str | None) -> None:
        """A row of `state_changes`."""
        self.inner.state_change(step, task, key, before, after)

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """A row of `taken`."""
        self.inner.taken(step, task, determinant, value, name)
        if step <= self.wanted:
            self._kinds = {step: determinant}

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
                f"the replay has no step {self.wanted} to fork at", remedy=f"Its steps go from 0 to {self.steps - 1}"
            )
        kind = self._kinds.get(self.found.row.step)
        return ForkPlace(self.found.row, self.found.answered, self.found.merged, kind)
