"""Coordinated checkpoints and nothing else: after any failure every task begins again from the last completed one.

The way of ordinary engines. No buffer and no determinant is kept, so a task alone could not be brought back to what
its neighbours saw of it.
"""

from __future__ import annotations

from replay.errors import InvariantError
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine
from replay.runtime.failing.failures import Failure
from replay.runtime.failing.rollback import roll_back
from replay.runtime.protocol import FaultTolerance


class Coordinated(FaultTolerance):
    """The whole graph is cancelled, deployed and restored together."""

    name = "coordinated"
    in_flight = False
    shares = False
    waits = False
    tracks = False
    standbys = False

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """Whatever failed, all that was done since the checkpoint is undone everywhere."""
        costs = engine.costs
        why = f"{failure.attempt.task} failed, and nothing but the checkpoint is kept"
        roll_back(engine, failure.number, why, re, start_us=costs.cancel_us + costs.deploy_us)

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """No task recovers alone, so none asks for determinants."""
        raise InvariantError(f"{attempt.task} escalated under coordinated checkpoints: {why}")
