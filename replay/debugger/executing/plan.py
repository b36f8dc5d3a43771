"""What is executed again, and who is told what the execution does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Built, Logs
from replay.model import Record, TaskId, Thread
from replay.runtime.body.output import Cut


class Watcher(Protocol):
    """Is told what an execution does; the part that writes steps, or that compares in silence."""

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """A buffer is about to be taken; with the epoch, main log offset and record count before it."""

    def cut(self, k: int, cut: Cut, named: Built | None) -> None:
        """A buffer was cut off output `k`, as its log names it."""

    def wrote(self, record: Record) -> None:
        """A sink gave a record to the outside."""

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """The task passes a barrier that ends this epoch: what its sink sealed."""

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A snapshot is complete."""

    def records_done(self) -> None:
        """One more record was processed, with all that followed from it."""

    @property
    def goes_on(self) -> bool:
        """Whether a divergence is only told of, and not raised."""

    def differs(self, found: DivergenceFound) -> None:
        """Raises it, or tells of it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is executed: `take_from` are the attempts whose receipts say what was taken, `logs` what is followed.

    `recovered`: how far `logs` are what `where` says; from there on they are `beyond`. None: all of them.
    `begin_anew`: the attempts of which receivers take no half record that another attempt began.
    """

    task: TaskId
    checkpoint: int
    state: Mapping[str, Any] | None
    logs: Logs
    take_from: tuple[int, ...]
    where: str
    to_the_last_take: bool = False
    recovered: Logs | None = None
    beyond: str = ""
    begin_anew: Collection[tuple[str, int]] = ()

    @property
    def is_own_log(self) -> bool:
        """Whether the log of the attempt itself is followed, all along or in the end."""
        return self.recovered is not None or len(self.take_from) == 1

    def where_at(self, thread: Thread, epoch: int, offset: int) -> str:
        """Whose log is followed there."""
        if self.recovered is None or offset < len(self.recovered.get(thread, {}).get(epoch, b"")):
            return self.where
        return self.beyond
