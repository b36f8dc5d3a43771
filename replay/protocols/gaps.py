"""`none`: gap recovery. Nothing is kept but checkpoints, and a failed task alone begins again, with what comes next."""

from __future__ import annotations

from replay.errors import InvariantError
from replay.model import TaskId
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine
from replay.runtime.failing.failures import Failure
from replay.runtime.protocol import FaultTolerance


class Gaps(FaultTolerance):
    """At most once: what a task had done since its checkpoint, and what came while it was away, is lost.

    Its state is the last completed checkpoint's, which is more than an empty one and never counts a record twice.
    """

    name = "none"
    in_flight = False
    shares = False
    waits = False
    tracks = False
    standbys = True

    def __init__(self) -> None:
        self._read: dict[TaskId, int] = {}

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """Only the failed task is replaced. One that was only suspected reads on no more than it has begun."""
        attempt = failure.attempt
        if attempt.executing and attempt.partition is not None:
            self._read[attempt.task] = attempt.body.source_offset + attempt.body.pending_elements
        engine.failures.replace(failure, re)

    def executing(self, attempt: Attempt) -> None:
        """A source goes on behind what was read: its partition counts what was taken, whoever took it."""
        if attempt.partition is not None:
            attempt.body.source_offset = max(attempt.body.source_offset, self._read.get(attempt.task, 0))

    def ended(self, attempt: Attempt) -> None:
        """What a source read, its next attempt does not read again."""
        if attempt.partition is not None:
            self._read[attempt.task] = max(attempt.body.source_offset, self._read.get(attempt.task, 0))

    def may_checkpoint(self, engine: Engine) -> bool:
        """A barrier that meets no receiver, or one that is fenced, is lost: what it would begin is never aligned."""
        everyone = engine.current.values()
        return all(one.counts and one.settled and all(output.serving for output in one.outputs) for one in everyone)

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """Nobody is asked for determinants, so no answer can be missing."""
        raise InvariantError(f"{attempt.task} escalated under gap recovery: {why}")
