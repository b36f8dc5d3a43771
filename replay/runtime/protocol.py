"""The interface of a fault-tolerance protocol: what a job's run decides differently under each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.body.output import Cut
    from replay.runtime.engine import Engine
    from replay.runtime.failing.failures import Failure


class FaultTolerance(Protocol):
    """One module of `replay.protocols` each. The engine asks these; it never looks at the name."""

    @property
    def name(self) -> str:
        """As in the manifest and on the command line."""

    @property
    def in_flight(self) -> bool:
        """Whether sent buffers are kept, to be sent again to a receiver that recovers."""

    @property
    def shares(self) -> bool:
        """Whether determinants are piggybacked, as far as the sharing depth says; else it is 0."""

    @property
    def waits(self) -> bool:
        """Whether nothing leaves a task before all that it logged is in the stable storage."""

    @property
    def tracks(self) -> bool:
        """Whether it is followed who depends on what was logged where: else the next five are never asked."""

    @property
    def standbys(self) -> bool:
        """Whether a failed task alone is replaced, so that a standby for it is of use."""

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """A failure was detected; `re` is the event that tells so."""

    def cut(self, attempt: Attempt, k: int, cut: Cut) -> None:
        """A buffer was cut."""
        return

    def carried_bytes(self, attempt: Attempt, k: int, cut: Cut) -> int:
        """How much more than its records and deltas a buffer carries."""
        return 0

    def taking(self, attempt: Attempt, i: int, sender: Attempt, seq: int) -> None:
        """A buffer is taken: nothing that follows from it is logged yet."""
        return

    def accepts(self, attempt: Attempt, sender: Attempt, k: int, seq: int) -> bool:
        """Whether a buffer that arrives is to be received."""
        return True

    def completed(self, attempt: Attempt, checkpoint: int) -> None:
        """A task that writes to the stable storage was told of a completed checkpoint."""
        return

    def writing(self, attempt: Attempt) -> Any:
        """A write to the stable storage begins; what is returned comes back when it is done."""
        return None

    def written(self, attempt: Attempt, note: Any) -> None:
        """It is done."""
        return

    def may_checkpoint(self, engine: Engine) -> bool:
        """Whether a checkpoint can be triggered now, as far as the protocol knows."""
        return True

    def executing(self, attempt: Attempt) -> None:
        """An attempt has its state, and has processed nothing yet."""
        return

    def ended(self, attempt: Attempt) -> None:
        """An attempt that executed failed, or is rolled back."""
        return

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """A recovery asks for determinants that nobody can rule out to be needed, and nobody can return."""
