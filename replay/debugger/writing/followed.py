"""The log that an execution follows, as steps tell of it: whose it is at each place, and what brought it there."""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.debugger.recorded.answers import Bringers
from replay.debugger.recorded.lineage import Lineage
from replay.debugger.recorded.logs import Logs
from replay.debugger.writing.steps import StepWriter


@dataclass(frozen=True, slots=True)
class Followed:
    """`lineage` says in whose log a determinant stands.

    Up to `recovered` (None: throughout) it is that of the attempts before; beyond it the replayed attempt is a new
    execution, whose choices stand in `own`.
    """

    lineage: Lineage
    bringers: Bringers = field(default_factory=Bringers)
    recovered: Logs | None = None
    own: Lineage | None = None

    def is_beyond(self, thread: str, epoch: int, offset: int) -> bool:
        """Whether nothing was recovered of that place."""
        return self.recovered is not None and offset >= len(self.recovered.get(thread, {}).get(epoch, b""))

    def whose(self, thread: str, epoch: int, offset: int) -> str:
        """In a sentence."""
        if self.recovered is None:
            return "The log"
        return "The new attempt's own log" if self.is_beyond(thread, epoch, offset) else "The log"

    def causes(
        self, steps: StepWriter, thread: str, epoch: int, number: int, offset: int
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The determinant itself and what brought it, where it came back from a holder; and the steps behind it."""
        if self.own is not None and self.is_beyond(thread, epoch, offset):
            return (self.own.cause(thread, epoch, number, offset),), steps.last("restore")
        cause = self.lineage.cause(thread, epoch, number, offset)
        if not self.bringers.ends:  # an attempt's own log, which nobody had to return
            return (cause,), steps.last("merge")
        return (cause, *self.bringers.cause(self.lineage.task, thread, epoch, offset)), steps.last("merge")
