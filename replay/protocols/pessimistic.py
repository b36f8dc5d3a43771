"""Pessimistic logging: what a task chose is in stable storage before anything that follows from it leaves the task."""

from __future__ import annotations

from replay.errors import InvariantError
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine
from replay.runtime.failing.failures import Failure
from replay.runtime.protocol import FaultTolerance


class Pessimistic(FaultTolerance):
    """Nobody is ever an orphan: a recovery is given by the storage all that anybody else can depend on."""

    name = "pessimistic"
    in_flight = True
    shares = False
    waits = True
    tracks = False
    standbys = True

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """Only the failed task is replaced."""
        engine.failures.replace(failure, re)

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """The storage never fails and lies behind no sharing depth."""
        raise InvariantError(f"{attempt.task} escalated under pessimistic logging: {why}")
