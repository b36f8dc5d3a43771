"""What is to be struck, and when: at a time, or when a task enters a recovery state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.model import TaskId

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine


@dataclass(frozen=True, slots=True)
class Kill:
    """A task, at a time since the job's origin."""

    task: TaskId
    at_ms: float


@dataclass(frozen=True, slots=True)
class KillIn:
    """A task, as soon as it next enters that recovery state."""

    task: TaskId
    state: str


@dataclass(frozen=True, slots=True)
class KillHost:
    """A host with all that is on it, at a time since the job's origin."""

    host: str
    at_ms: float


@dataclass(slots=True)
class Blow:
    """Kills that belong together: their failures name the first of them."""

    kills: tuple[Kill | KillHost, ...]
    first_failure: int | None = None


class Kills:
    """Strikes the current attempt of a task; where there is none just then, the next one.

    A host is struck when its time has come, whatever is on it.
    """

    def __init__(self, engine: Engine, blows: Sequence[Blow], kills_in: Sequence[KillIn]):
        self.engine = engine
        self.left = sum(len(blow.kills) for blow in blows)
        self.last_ms = max((kill.at_ms for blow in blows for kill in blow.kills), default=0)
        self.not_made = list(kills_in)
        self.struck_nothing: list[KillHost] = []
        self._blows = tuple(blows)
        self._waiting: list[tuple[TaskId, Blow]] = []

    def start(self) -> None:
        """Schedules those that have a time."""
        for blow in self._blows:
            for kill in blow.kills:
                self.engine.scheduler.at(int(kill.at_ms * 1000), self._making(kill, blow))

    def _making(self, kill: Kill | KillHost, blow: Blow) -> Callable[[], None]:
        if isinstance(kill, Kill):
            return self._striking(kill.task, blow)
        return lambda: self._strike_host(kill, blow)

    def _strike_host(self, kill: KillHost, blow: Blow) -> None:
        self.left -= 1
        self.engine.checkpoints.disturbed()  # also where it strikes nothing: the job waited for it, and may end now
        failures, several = self.engine.failures, len(blow.kills) > 1
        # What is only being deployed there ends when it would begin.
        for attempt in self.engine.current.values():
            if attempt.host == kill.host and attempt.alive and not attempt.deployed:
                self.left += 1
                self._waiting.append((attempt.task, blow))
        if kill.host in failures.hosts.down:
            self.struck_nothing.append(kill)
            return
        first = failures.fail_host(kill.host, together=blow.first_failure, first_of_several=several)
        if first is None:
            self.struck_nothing.append(kill)
        elif blow.first_failure is None and several:
            blow.first_failure = first

    def _striking(self, task: TaskId, blow: Blow) -> Callable[[], None]:
        return lambda: self._strike(task, blow)

    def _strike(self, task: TaskId, blow: Blow) -> None:
        attempt = self.engine.current[task]
        if not attempt.counts or not attempt.deployed:
            self._waiting.append((task, blow))
            return
        self.left -= 1
        several = len(blow.kills) > 1
        failure = self.engine.failures.fail(attempt, "killed", together=blow.first_failure, first_of_several=several)
        if blow.first_failure is None and several:
            blow.first_failure = failure

    def deployed(self, attempt: Attempt) -> None:
        """A new attempt is there: strikes that waited for it hit it soon."""
        for task, blow in [one for one in self._waiting if one[0] == attempt.task][:1]:
            self._waiting.remove((task, blow))
            self.engine.call(self._striking(task, blow))

    def entered(self, attempt: Attempt, state: str) -> None:
        """A recovery state was entered, perhaps one in which the task is to be struck."""
        for kill in self.not_made:
            if kill.task == attempt.task and kill.state == state:
                self.not_made.remove(kill)
                self.strike_at(kill.task, self.engine.scheduler.now_us)
                return

    def strike_at(self, task: TaskId, t_us: int) -> None:
        """Strikes a task at that time, on the spur of the moment: the job does not end before."""
        self.left += 1
        self.engine.scheduler.at(t_us, self._striking(task, Blow((Kill(task, 0),))))

    def strike_host_at(self, host: Callable[[], str], t_us: int) -> None:
        """Strikes the host that is meant by then at that time, likewise."""
        self.left += 1

        def strike() -> None:
            kill = KillHost(host(), t_us / 1000)
            self._strike_host(kill, Blow((kill,)))

        self.engine.scheduler.at(t_us, strike)
