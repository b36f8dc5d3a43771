"""What every sink has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replay.model import Record

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt

Transactions = list[dict[str, Any]]
"""What a snapshot says under `transactions`: what is sealed, and not known to be final."""


class Sink(ABC):
    """Of one attempt. What it does for a checkpoint is little or nothing, unless a kind says otherwise."""

    def __init__(self, attempt: Attempt):
        self.attempt = attempt

    @property
    def settled(self) -> bool:
        """Whether it makes new writes, and none that the world has already."""
        return True

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way to the world that a completed checkpoint has made final."""
        return True

    def restore(self, transactions: Sequence[dict[str, Any]]) -> None:
        """Execution begins, from a checkpoint that lists these."""
        return

    @abstractmethod
    def write(self, record: Record) -> None:
        """The operator gives a record to the outside."""

    def barrier(self, checkpoint: int) -> Transactions:
        """The task passes a barrier: what was written before it is sealed. Returns what the snapshot is to list."""
        return []

    def completed(self, checkpoint: int, re: int | None) -> None:
        """The task is told, by event `re`, that a checkpoint is complete: what it sealed before is made final."""
        return

    # --- for the kinds ---

    def _accepted(self, epoch: int, t_us: int, record: Record, **marks: Any) -> None:
        """The world took a write."""
        self.attempt.recorder.sink(epoch, t_us, record, **marks)

    def _visible(self, record: Record, t_us: int) -> None:
        """Whoever reads from the world may see it."""
        self.attempt.engine.sink_wrote(self.attempt, record, t_us)
