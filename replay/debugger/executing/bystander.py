"""What those are made of who watch an execution, or observe its body, for a few things only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Built
from replay.log.determinants import Determinant
from replay.model import Record
from replay.runtime.body.output import Cut
from replay.runtime.operators import Timer


class Bystander:
    """A `Watcher`, a `BodyObserver` and a `ChoiceObserver` that does nothing of what it is told."""

    __slots__ = ()

    # --- the watcher of an execution ---

    @property
    def goes_on(self) -> bool:
        """It stops at the first divergence."""
        return False

    def differs(self, found: DivergenceFound) -> None:
        """Raises it."""
        raise found

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """A buffer is about to be taken."""

    def cut(self, k: int, cut: Cut, named: Built | None) -> None:
        """A buffer was cut."""

    def wrote(self, record: Record) -> None:
        """A sink's write."""

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """A sink's part of a snapshot."""
        return []

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A snapshot is complete."""

    def records_done(self) -> None:
        """A record is done with."""

    # --- the observer of its body ---

    def taking(self, i: int, seq: int) -> None:
        """A buffer is about to be taken."""

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed."""

    def taking_watermark(self, i: int, watermark_ms: int, record_count: int) -> None:
        """A watermark is about to be processed."""

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed."""

    def running(self, timer: Timer) -> None:
        """A timer is about to be given to the operator."""

    def watermark_passed(self, watermark_ms: int) -> None:
        """The operator is about to be told of a watermark."""

    def done(self) -> None:
        """A watermark or an asynchronous determinant is done with."""

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written to an output."""

    def forwarding(self, k: int, event: dict[str, Any]) -> None:
        """A watermark is about to be written to an output."""

    def snapshotting(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """The main thread took a snapshot."""

    # --- the observer of its choices ---

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """A determinant of the log was used."""

    def appended(self, determinant: Determinant, epoch: int) -> None:
        """A determinant was appended."""
