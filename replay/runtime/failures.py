"""The coordinator's failures: how they are made, detected, and answered by a standby or a rescheduled attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.model import TaskId
from replay.recovery import RecoveryStarted, RestoreStarted, StateRestored
from replay.runtime.kills import Blow, KillIn, Kills
from replay.runtime.standbys import Standbys

if TYPE_CHECKING:
    from replay.runtime.attempt import Attempt
    from replay.runtime.engine import Engine


@dataclass(slots=True)
class Failure:
    """One task's failure. `over_us`: since when a later attempt makes its own choices, or all was rolled back."""

    number: int
    attempt: Attempt
    event: int
    t_us: int
    detected: bool = False
    over_us: int | None = None

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.over_us is not None


class Failures:
    """Numbers them, and starts what replaces the failed."""

    def __init__(self, engine: Engine, blows: Sequence[Blow], kills_in: Sequence[KillIn], standby: int):
        self.engine = engine
        self.kills = Kills(engine, blows, kills_in)
        self.standbys = Standbys(engine, standby)
        self.all: list[Failure] = []

    @property
    def kills_left(self) -> int:
        """How many kills are still to be made."""
        return self.kills.left

    @property
    def quiet(self) -> bool:
        """Whether every failure so far is over."""
        return all(failure.over for failure in self.all)

    def failure_of(self, attempt: Attempt) -> tuple[int, int]:
        """The failure that ended an attempt, and the event that tells of it."""
        found = next(one for one in reversed(self.all) if one.attempt is attempt)
        return found.number, found.event

    def is_known(self, attempt: Attempt) -> bool:
        """Whether the coordinator has heard that this attempt failed."""
        return any(one.attempt is attempt and one.detected for one in self.all)

    # --- failing ---

    def fail(self, attempt: Attempt, cause: str, *, together: int | None, first_of_several: bool) -> int:
        """An attempt ends here and now; whoever depends on it finds out later."""
        number = len(self.all)
        n = self.engine.event(
            "task-failed",
            failure=number,
            task=attempt.task,
            attempt=attempt.number,
            host=attempt.host,
            cause=cause,
            together=number if together is None and first_of_several else together,
        )
        self.close(attempt.task)  # a failure during a recovery takes over what is left of it
        self.all.append(Failure(number, attempt, n, self.engine.scheduler.now_us))
        attempt.end()
        self.engine.checkpoints.disturbed()
        self.engine.links.broken(attempt, number, n)
        self.engine.scheduler.after(
            self.engine.costs.heartbeat_timeout_us, lambda: self.detected(number, "heartbeat", n)
        )
        return number

    def entered(self, attempt: Attempt, state: str) -> None:
        """An attempt entered a recovery state."""
        self.kills.entered(attempt, state)
        if state == "Running":
            self.close(attempt.task)

    def close(self, task: TaskId | None = None) -> None:
        """The failures of a task, or all, are over."""
        for failure in self.all:
            if failure.over_us is None and task in (None, failure.attempt.task):
                failure.over_us = self.engine.scheduler.now_us

    def answered_for(self, attempt: Attempt, of: TaskId) -> None:
        """An attempt answered a newer attempt of another task."""
        self.engine.links.fence(attempt, of)

    # --- detecting and replacing ---

    def detected(self, number: int, by: str, re: int) -> None:
        """The coordinator hears of a failure, perhaps from several; only the first time counts."""
        failure = self.all[number]
        if failure.detected or self.engine.current[failure.attempt.task] is not failure.attempt:
            return
        failure.detected = True
        task = failure.attempt.task
        n = self.engine.event("failure-detected", re=re, failure=number, by=by)
        self.engine.checkpoints.failed(task, n)
        self.engine.protocol.failed(self.engine, failure, n)

    def replace(self, failure: Failure, re: int) -> None:
        """A standby takes over, or an attempt is deployed elsewhere."""
        task, n = failure.attempt.task, re
        number = failure.number
        standby = self.standbys.take(task)
        if standby is None:
            n = self.engine.event(
                "task-rescheduled", re=n, failure=number, task=task, host=self.standbys.free_host(task)
            )
            host = self.standbys.free_host(task)
            self.engine.scheduler.after(
                self.engine.costs.deploy_us, lambda: self._begin(failure, host, n, standby=False)
            )
        else:
            n = self.engine.event("standby-activated", re=n, failure=number, task=task, host=standby.host)
            self._begin(failure, standby.host, n, standby=True)

    def _begin(self, failure: Failure, host: str, re: int, *, standby: bool) -> None:
        engine, old = self.engine, failure.attempt
        if engine.current[old.task] is not old:
            return  # a rollback came first
        checkpoint = engine.checkpoints.completed
        attempt = engine.deploy(old.task, old.number + 1, host, checkpoint, running=False)
        n = engine.event(
            "attempt-started",
            re=re,
            task=attempt.task,
            attempt=attempt.number,
            host=host,
            standby=standby,
            checkpoint=checkpoint,
            failure=failure.number,
        )
        attempt.state_cause = n
        self._restore(attempt, checkpoint, n, standby=standby)
        self.kills.entered(attempt, "Standby")
        engine.links.reconnect(attempt, n)
        engine.call(lambda: attempt.handle(RecoveryStarted(), re=n))
        self.kills.deployed(attempt)

    def _restore(self, attempt: Attempt, checkpoint: int, re: int, *, standby: bool) -> None:
        engine = self.engine
        size = len(engine.checkpoints.state(attempt.task, checkpoint) or b"")
        fields = {"task": attempt.task, "checkpoint": checkpoint, "bytes": size}
        n = attempt.event("restore-started", re=re, **fields)
        attempt.handle(RestoreStarted(checkpoint), re=n)

        def restored() -> None:
            if attempt.alive:
                m = attempt.event("state-restored", re=n, **fields)
                attempt.handle(StateRestored(checkpoint), re=m)

        left_us = engine.costs.download_us(size)
        if standby:  # it began to load the snapshot when the checkpoint completed
            left_us -= engine.scheduler.now_us - engine.checkpoints.completed_us
        if left_us <= 0:
            restored()
        else:
            engine.scheduler.after(left_us, restored)

    # --- past the sharing depth ---

    def escalated(self, attempt: Attempt, why: str, re: int) -> None:
        """A recovery can't go on: the coordinator decides."""
        number = next(one.number for one in reversed(self.all) if one.attempt.task == attempt.task)
        self.engine.call(lambda: self.engine.protocol.escalated(self.engine, attempt, number, why, re))
