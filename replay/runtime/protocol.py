"""The interface of a fault-tolerance protocol: what a job's run decides differently under each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from replay.runtime.attempt import Attempt
    from replay.runtime.engine import Engine


class FaultTolerance(Protocol):
    """One module of `replay.protocols` each."""

    @property
    def name(self) -> str:
        """As in the manifest and on the command line."""

    @property
    def in_flight(self) -> bool:
        """Whether sent buffers are kept, to be sent again to a receiver that recovers."""

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """A recovery asks for determinants that nobody can rule out to be needed, and nobody can return."""
