"""What the debugger reads from and writes to: its two ports, and the rows of the steps tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from replay.bundle.reader import Members
from replay.causality.recording import Recording
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
    """Takes rows as they are made, steps numbered from 0; a step's causes and changes follow it."""

    def step(self, row: StepRow) -> None:
        """A row of `steps`."""

    def cause(self, step: int, cause: str) -> None:
        """A row of `causes`."""

    def state_change(self, step: int, task: str, key: str, before: str | None, after: str | None) -> None:
        """A row of `state_changes`; the values are JSON, None where there is none."""

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

    def step(self, row: StepRow) -> None:
        """Dropped."""

    def cause(self, step: int, cause: str) -> None:
        """Dropped."""

    def state_change(self, step: int, task: str, key: str, before: str | None, after: str | None) -> None:
        """Dropped."""

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """Dropped."""

    def buffer(self, row: BufferRow) -> None:
        """Dropped."""

    def open_order(self, step: int, before: int) -> None:
        """Dropped."""

    def flush(self) -> None:
        """Nothing to do."""
