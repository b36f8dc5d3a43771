"""What the debugger reads from and writes to: its two ports, and the rows of the steps tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from replay.bundle.reader import Members
from replay.causality.recording import Recording
from replay.debugger.writing.sentences import AS_IT_IS, Sentence, Values
from replay.log.deltas import LogIds
from replay.log.determinants import Determinant
from replay.model import Thread


class RecordingSource(Recording, Protocol):
    """A recording as the debugger reads it; `replay.bundle.reader.Bundle` satisfies it."""

    members: Members
    ids: LogIds

    def determinants(
        self, task: str, attempt: int, thread: Thread, epoch: int
    ) -> Iterator[tuple[int, int, Determinant]]:
        """A thread's determinants of one epoch as (offset, length, determinant)."""

    def source(self, task: str, attempt: int) -> Iterator[Mapping[str, Any]]:
        """The lines of a source's records."""

    def sink(self, task: str, attempt: int) -> Iterator[Mapping[str, Any]]:
        """The lines of what a sink gave to the outside."""

    def state(self, task: str, attempt: int, checkpoint: int) -> Mapping[str, Any] | None:
        """The snapshot that the attempt took for a checkpoint, if it did."""


class StepRow(NamedTuple):
    """A row of `steps`, in the order of its columns; None where a column does not apply."""

    step: int
    task: str
    actor: str
    kind: str
    state: str
    epoch: int
    record_count: int
    t_us: int
    log: str | None
    log_offset: int | None
    channel: str | None
    buffer: int | None
    bytes: int | None
    text: str


class StepForm:
    """What many steps have in common: made once, and the same object for all of them."""

    __slots__ = ("actor", "channel", "kind", "log", "sentence", "task")

    def __init__(
        self, task: str, actor: str, kind: str, log: str | None, channel: str | None, sentence: Sentence = AS_IT_IS
    ) -> None:
        self.task = task
        self.actor = actor
        self.kind = kind
        self.log = log
        self.channel = channel
        self.sentence = sentence


Told = tuple[
    int, StepForm, str, int, int, int, int | None, int | None, int | None, Values, tuple[int, ...], tuple[str, ...]
]
"""A step as it is handed over: the fields of a `Step`, which takes twice as long to make."""


class Step(NamedTuple):
    """A step: its form, and beside it what is its own.

    `values` go into the gaps of its sentence. Its causes are `of_others`, by their names, and behind them `of_steps`.
    """

    step: int
    form: StepForm
    state: str
    epoch: int
    record_count: int
    t_us: int
    log_offset: int | None
    buffer: int | None
    bytes: int | None
    values: Values
    of_steps: tuple[int, ...] = ()
    of_others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its sentence, in words."""
        return self.form.sentence.of(self.values)

    @property
    def causes(self) -> list[str]:
        """As rows of `causes` hold them."""
        return [*self.of_others, *(f"step:{step}" for step in self.of_steps)]

    def row(self) -> StepRow:
        """As it is read."""
        form = self.form
        return StepRow(
            self.step, form.task, form.actor, form.kind, self.state, self.epoch, self.record_count, self.t_us,
            form.log, self.log_offset, form.channel, self.buffer, self.bytes, self.text,
        )  # fmt: skip


Change = tuple[str, str | None, str | None]
"""A flat key of the state, and its value before and after as JSON, None where the key is not there."""


_form = lru_cache(maxsize=1_024)(StepForm)


def step_of(row: StepRow, causes: Iterable[str] = ()) -> Step:
    """A step that was written elsewhere, to be handed over."""
    form = _form(row.task, row.actor, row.kind, row.log, row.channel)
    stands = row.state, row.epoch, row.record_count, row.t_us
    return Step(row.step, form, *stands, row.log_offset, row.buffer, row.bytes, (row.text,), (), tuple(causes))


class BufferRow(NamedTuple):
    """A row of `buffers`, in the order of its columns; None where the recording can't tell."""

    step: int
    task: str
    channel: str
    seq: int
    bytes: int
    was_received_before: bool | None
    matches: bool | None


class StepSink(Protocol):
    """Takes steps as they are made, numbered from 0; what stands beside a step follows it."""

    def step(self, told: Told) -> None:
        """A row of `steps`, and its rows of `causes`."""

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        """Rows of `state_changes`."""

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """A row of `taken`: what the determinant that a step takes from the log says."""

    def buffer(self, row: BufferRow) -> None:
        """A row of `buffers`."""

    def open_order(self, step: int, before: int) -> None:
        """A row of `open_orders`: the recording does not say that step `before` came before this one."""

    def flush(self) -> None:
        """What was written so far may be looked at."""


class NoSteps:
    """A sink for those who only want the verdict."""

    def step(self, told: Told) -> None:
        """Dropped."""

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        """Dropped."""

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """Dropped."""

    def buffer(self, row: BufferRow) -> None:
        """Dropped."""

    def open_order(self, step: int, before: int) -> None:
        """Dropped."""

    def flush(self) -> None:
        """Nothing to do."""
