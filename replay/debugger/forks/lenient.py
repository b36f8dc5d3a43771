"""What a fork makes, held against the recording without an end where they differ: a fork is meant to differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.debugger.executing.comparison import Comparison
from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.inputs import Taken
from replay.model import Record
from replay.runtime.body.output import Cut


class ForkComparison(Comparison):
    """`orphaned`: by output, the first buffer that its receiver had received, and that the fork makes otherwise."""

    orphaned: dict[int, int]
    _as_before: bool = True

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """A fork may take at another place what the recording took."""
        try:
            super().taken(taken, epoch, offset, record_count)
            self._as_before = True
        except DivergenceFound:
            self._as_before = False

    def first_execution_took(self, taken: Taken) -> str:
        """Said only where it was."""
        return super().first_execution_took(taken) if self._as_before else ""

    def cut(self, k: int, cut: Cut, *, beyond: bool = False) -> tuple[bool | None, bool | None]:
        """(whether it equals the recorded one, whether its receiver had received it)."""
        try:
            found = super().cut(k, cut, beyond=beyond)
        except DivergenceFound:
            found = False, self.was_received(k, cut.seq)
        matches, received = found
        if matches is False and received:
            self.orphans.setdefault(k, cut.seq)
        return found

    @property
    def orphans(self) -> dict[int, int]:
        """By output, the first buffer that contradicts what its receiver had received."""
        if not hasattr(self, "orphaned"):
            self.orphaned = {}
        return self.orphaned

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A fork's snapshot may be another one."""

    def check_accepted(self, epoch: int) -> None:
        """A fork may write more than the outside world was given."""

    def wrote(self, record: Record) -> bool:
        """Whether the world outside holds it back, as it had it already."""
        try:
            return super().wrote(record)
        except DivergenceFound:
            return False
