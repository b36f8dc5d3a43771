"""Those around a body: who drives it, and who follows what it does."""

from __future__ import annotations

from typing import Any, Protocol

from replay.log.determinants import Determinant
from replay.model import Record
from replay.runtime.body.barriers import State
from replay.runtime.operators import Timer


class Driver(Protocol):
    """What a body tells whoever drives it."""

    def wrote(self, record: Record) -> None:
        """A sink gave a record to the outside world."""

    def sealed(self, checkpoint: int) -> list[dict[str, Any]]:
        """The task passes a barrier: what the snapshot lists of the writes that are sealed, and not known final."""

    def timer_set(self, callback: str, at_ms: int) -> None:
        """A timer was set that comes before all others of its callback."""

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""

    def snapshot_taken(self, checkpoint: int, state: State) -> None:
        """A snapshot is complete: the main thread took it, and every output thread has cut the barrier since."""


class BodyObserver(Protocol):
    """Follows what a body does, step by step; the debugger's way in."""

    def taking(self, i: int, seq: int) -> None:
        """A buffer of input `i` is about to be taken."""

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed, as the so-and-so-many-th element of its epoch."""

    def taking_watermark(self, i: int, watermark_ms: int, record_count: int) -> None:
        """A watermark of input `i` is about to be processed, as the so-and-so-many-th element of its epoch."""

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed."""

    def running(self, timer: Timer) -> None:
        """The operator is about to be given a timer that is due."""

    def watermark_passed(self, watermark_ms: int) -> None:
        """The timers up to a watermark have run; the operator is about to be told of it."""

    def done(self) -> None:
        """A watermark, or an asynchronous determinant, was executed, with all that followed from it."""

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written to output `k`."""

    def forwarding(self, k: int, event: dict[str, Any]) -> None:
        """A watermark is about to be written to output `k`."""

    def snapshotting(self, checkpoint: int, state: State) -> None:
        """The main thread took a snapshot; `outputs` in it are filled in as the barriers are cut."""
