"""Clonos: causal logging with local recovery; past the sharing depth the whole job is rolled back."""

from __future__ import annotations

from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine
from replay.runtime.failing.failures import Failure
from replay.runtime.failing.rollback import roll_back
from replay.runtime.protocol import FaultTolerance


class Clonos(FaultTolerance):
    """Local recovery by determinants, as far as anyone holds them."""

    name = "clonos"
    in_flight = True
    shares = True
    waits = False
    tracks = False
    standbys = True

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """Only the failed task is replaced."""
        engine.failures.replace(failure, re)

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """Rolls back, unless that was done since, or the attempt is gone and its successor asks anew."""
        if attempt.alive:
            roll_back(engine, failure, why, re)
