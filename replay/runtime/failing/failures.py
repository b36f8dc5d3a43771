"""The coordinator's failures: how they are made, and answered by a standby or a rescheduled attempt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replay.causality.life import SUSPECTED
from replay.errors import check
from replay.model import TaskId
from replay.recovery import RecoveryStarted, RestoreStarted, StateRestored
from replay.runtime.failing.detection import Detection
from replay.runtime.failing.hosts import Hosts, Seat
from replay.runtime.failing.kills import KillHost, Kills
from replay.runtime.failing.phases import Pace, Phases
from replay.runtime.failing.placement import Placement
from replay.runtime.failing.standbys import Standby, Standbys
from replay.runtime.failing.suspicion import Suspicions

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine, Run

KILLED = "killed"
HOST_KILLED = "host killed"
"""The causes of failures."""


@dataclass(slots=True, eq=False)
class Failure:
    """One task's failure. `over_us`: since when a later attempt makes its own choices, or all was rolled back."""

    number: int
    attempt: Attempt
    event: int
    t_us: int
    cause: str
    detected: bool = False
    over_us: int | None = None
    replacement: Attempt | None = None
    phases: Phases = field(default_factory=Phases)

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.over_us is not None


class Failures:
    """Numbers them, and starts what replaces the failed."""

    def __init__(self, engine: Engine, run: Run, standby: int):
        self.engine = engine
        self.kills = Kills(engine, run.blows, run.kills_in)
        self.suspicions = Suspicions(engine, run.suspicions)
        self.detection = Detection(engine)
        self.hosts = Hosts(engine, run.hosts, run.slots, standby)
        self.hosts.check_known(kill.host for blow in run.blows for kill in blow.kills if isinstance(kill, KillHost))
        self.standbys = Standbys(engine, standby)
        self.hosts.make_room = self.standbys.make_room
        self.placement = Placement(self.hosts, self.standbys, local_copies=run.local_copies)
        self.pace = Pace()
        self.all: list[Failure] = []
        self.fenced: list[Attempt] = []

    def start(self) -> None:
        """Schedules what is to go wrong."""
        self.kills.start()
        self.suspicions.start()

    @property
    def kills_left(self) -> int:
        """How many kills and suspicions are still to be made."""
        return self.kills.left + self.suspicions.left

    @property
    def last_ms(self) -> float:
        """When the last of them is due."""
        return max(self.kills.last_ms, self.suspicions.last_ms)

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

    def fail(
        self, attempt: Attempt, cause: str = KILLED, *, together: int | None = None, first_of_several: bool = False
    ) -> int:
        """An attempt ends here and now; whoever depends on it finds out later."""
        failure = self._record(attempt, cause, together, first_of_several=first_of_several)
        attempt.end()
        self.engine.links.broken(attempt, failure.number, failure.event)
        self.detection.awaits_heartbeat(failure.number, attempt, failure.event)
        return failure.number

    def _record(
        self,
        attempt: Attempt,
        cause: str,
        together: int | None = None,
        *,
        first_of_several: bool = False,
        re: int | None = None,
    ) -> Failure:
        number, now_us = len(self.all), self.engine.scheduler.now_us
        n = self.engine.event(
            "task-failed",
            re=re,
            failure=number,
            task=attempt.task,
            attempt=attempt.number,
            host=attempt.host,
            cause=cause,
            together=number if together is None and first_of_several else together,
        )
        self.close(attempt.task)  # a failure during a recovery takes over what is left of it
        failure = Failure(number, attempt, n, now_us, cause)
        failure.phases.reach("failed", now_us)
        self.pace.failed(failure.phases)
        self.all.append(failure)
        self.engine.checkpoints.disturbed()
        return failure

    def fail_host(self, host: str, *, together: int | None = None, first_of_several: bool = False) -> int | None:
        """A host is gone with all that was on it; returns the first of its tasks' failures, if it had any."""
        engine = self.engine
        here = [one for one in engine.current.values() if one.host == host and one.counts and one.deployed]
        lost = [one for one in self.fenced if one.host == host]
        self.hosts.fail(host)
        several = first_of_several or len(here) > 1
        for attempt in here:
            number = self.fail(attempt, HOST_KILLED, together=together, first_of_several=several)
            together = number if together is None and several else together
        for attempt in lost:
            self.end_fenced(attempt)
        tasks = self.standbys.lost_with_hosts()
        if tasks:  # nobody is connected to a standby: only its heartbeats are missed
            costs = engine.costs
            engine.scheduler.after(costs.heartbeat_timeout_us, lambda: self._refill(tasks))
        return self.all[-len(here)].number if here else None

    def _refill(self, tasks: list[TaskId]) -> None:
        for task in tasks:
            self.standbys.refill(task)

    # --- suspecting ---

    def suspect(self, attempt: Attempt, until_us: int) -> None:
        """Heartbeats are missed of an attempt that still runs: it is fenced, and ends when it hears of that."""
        failure = self._record(attempt, SUSPECTED)
        attempt.fenced = True
        self.fenced.append(attempt)
        self.engine.scheduler.at(until_us + self.engine.costs.rpc_us, lambda: self.end_fenced(attempt))
        self.engine.moment("suspected", task=attempt.task)
        self.detection.heard(failure.number, "heartbeat", failure.event)

    def end_fenced(self, attempt: Attempt) -> None:
        """A suspected attempt is over: it hears that it is fenced, its host is gone, or its recovery is given up."""
        if attempt not in self.fenced:
            return
        self.fenced.remove(attempt)
        attempt.end()
        self.engine.links.broken(attempt, *self.failure_of(attempt))
        self.hosts.leave(attempt.seat)

    # --- how far a recovery is ---

    def entered(self, attempt: Attempt, state: str) -> None:
        """An attempt entered a recovery state."""
        if not attempt.counts:
            return
        self._reached(attempt, state)
        self.kills.entered(attempt, state)
        if state == "Running":
            self.close(attempt.task)

    def settled(self, attempt: Attempt) -> None:
        """Main thread and outputs of an attempt have done again all that was done before."""
        self._reached(attempt, "rebuilt")

    def _reached(self, attempt: Attempt, phase: str) -> None:
        failure = next((one for one in reversed(self.all) if one.replacement is attempt), None)
        if failure is not None:
            failure.phases.reach(phase, self.engine.scheduler.now_us)

    def close(self, task: TaskId | None = None) -> None:
        """The failures of a task, or with a rollback all, are over."""
        now_us = self.engine.scheduler.now_us
        for failure in self.all:
            if failure.over_us is not None or task not in (None, failure.attempt.task):
                continue
            failure.over_us = now_us
            if task is None:
                failure.phases.reach("rolled-back", now_us)
            elif not failure.phases.has("Running"):
                self.pace.superseded(failure.phases)

    def answered_for(self, attempt: Attempt, of: TaskId) -> None:
        """An attempt answered a newer attempt of another task."""
        self.engine.links.fence(attempt, of)

    # --- giving up ---

    def begin_again(self, attempt: Attempt, cause: str, re: int, *, after_us: float) -> None:
        """The coordinator gives up an attempt that runs: the task recovers where it is, and keeps its slot."""
        engine, seat = self.engine, attempt.seat
        check(seat is not None, f"{attempt.task} runs in a slot")
        failure = self._record(attempt, cause, re=re)
        failure.detected = True
        failure.phases.reach("detected", engine.scheduler.now_us)
        attempt.end()
        engine.links.broken(attempt, failure.number, failure.event)
        engine.checkpoints.failed(attempt.task, failure.event)
        fields = {"failure": failure.number, "task": attempt.task, "host": attempt.host, "why": cause}
        n = engine.event("task-rescheduled", re=failure.event, **fields)
        start_us = engine.costs.deploy_us / 4 + after_us
        engine.scheduler.after(start_us, lambda: self._deployed(failure, seat, n))  # type: ignore[arg-type]

    # --- replacing ---

    def detected(self, number: int, by: str, re: int) -> None:
        """The coordinator knows of a failure: pending checkpoints are given up, and somebody takes over."""
        failure = self.all[number]
        failure.detected = True
        failure.phases.reach("detected", self.engine.scheduler.now_us)
        n = self.engine.event("failure-detected", re=re, failure=number, by=by)
        self.engine.checkpoints.failed(failure.attempt.task, n)
        self.engine.protocol.failed(self.engine, failure, n)
        now = self.engine.current[failure.attempt.task]
        if failure.attempt.fenced or (now is not failure.attempt and now.seat is failure.attempt.seat):
            self.hosts.serve()  # it has its slot until it knows, or a rollback has taken the slot over
        else:
            self.hosts.leave(failure.attempt.seat)

    def replace(self, failure: Failure, re: int) -> None:
        """A standby takes over, or an attempt is deployed elsewhere."""
        task = failure.attempt.task
        standby = self.standbys.take(task)
        if standby is None:
            self._reschedule(failure, re, self.standbys.why_none(task))
            return
        self.placement.moved(task, standby.seat)
        fields = {"failure": failure.number, "task": task, "host": standby.host}
        n = self.engine.event("standby-activated", re=re, **fields)
        self._begin(failure, standby.seat, n, standby)
        self.standbys.refill(task)

    def _reschedule(self, failure: Failure, re: int, why: str) -> None:
        engine, task, asked_us = self.engine, failure.attempt.task, self.engine.scheduler.now_us

        def granted(seat: Seat) -> None:
            fields = {"failure": failure.number, "task": task, "host": seat.host, "why": why}
            waited_us = engine.scheduler.now_us - asked_us
            n = engine.event("task-rescheduled", re=re, **fields, waited_us=waited_us or None)
            self.standbys.refill(task)
            engine.scheduler.after(engine.costs.deploy_us, lambda: self._deployed(failure, seat, n))

        def wanted() -> bool:
            return engine.current[task] is failure.attempt

        self.placement.ask(task, granted, wanted=wanted)

    def _deployed(self, failure: Failure, seat: Seat, re: int) -> None:
        if self.engine.current[failure.attempt.task] is not failure.attempt:
            return  # a rollback came first, and has taken the slot over
        if seat.left:
            self._reschedule(failure, re, f"{seat.host} failed before the task was there")
            self.hosts.serve()
        else:
            self._begin(failure, seat, re, None)

    def _begin(self, failure: Failure, seat: Seat, re: int, standby: Standby | None) -> None:
        engine, old = self.engine, failure.attempt
        checkpoint, now_us = engine.checkpoints.completed, engine.scheduler.now_us
        attempt = engine.deploy(old.task, old.number + 1, seat.host, checkpoint, running=False)
        attempt.seat = seat
        failure.replacement = attempt
        failure.phases.reach("replaced", now_us)
        failure.phases.reach("started", now_us)
        n = engine.event(
            "attempt-started",
            re=re,
            task=attempt.task,
            attempt=attempt.number,
            host=attempt.host,
            standby=standby is not None,
            checkpoint=checkpoint,
            diverged=attempt.diverged or None,
            failure=failure.number,
        )
        attempt.state_cause = n
        self._restore(attempt, n, standby, local=self.placement.local_copies and old.host == seat.host)
        self.entered(attempt, "Standby")
        engine.links.reconnect(attempt, n)
        engine.call(lambda: attempt.handle(RecoveryStarted(), re=n))
        self.deployed(attempt)

    def deployed(self, attempt: Attempt) -> None:
        """An attempt is there: what was to strike its task may strike now."""
        self.kills.deployed(attempt)
        self.suspicions.deployed(attempt)

    def _restore(self, attempt: Attempt, re: int, standby: Standby | None, *, local: bool) -> None:
        engine, checkpoint = self.engine, attempt.checkpoint
        size = engine.checkpoints.state_bytes(attempt.task, checkpoint)
        fields = {"task": attempt.task, "checkpoint": checkpoint, "bytes": size}
        n = attempt.event("restore-started", re=re, **fields)
        attempt.handle(RestoreStarted(checkpoint), re=n)

        def restored() -> None:
            if attempt.alive:
                self._reached(attempt, "restored")
                m = attempt.event("state-restored", re=n, **fields)
                attempt.handle(StateRestored(checkpoint), re=m)

        left_us = None if standby is None else standby.left_us(checkpoint, engine.scheduler.now_us)
        if left_us is None:
            engine.scheduler.after(engine.costs.download_us(size, local=local), restored)
        elif left_us == 0:
            restored()
        else:
            engine.scheduler.at(engine.scheduler.now_us + left_us, restored)

    # --- past the sharing depth ---

    def escalated(self, attempt: Attempt, why: str, re: int) -> None:
        """A recovery can't go on: the coordinator decides, unless it has given that attempt up already."""
        number = next(one.number for one in reversed(self.all) if one.attempt.task == attempt.task)

        def decide() -> None:
            if not attempt.fenced:
                self.engine.protocol.escalated(self.engine, attempt, number, why, re)

        self.engine.call(decide)
