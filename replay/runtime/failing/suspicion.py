"""False suspicions: heartbeats that are held up past their timeout, by a network that otherwise does its work.

The task that is suspected still runs. From then on it is fenced: the coordinator listens to it no more, a new attempt
takes its place, and whoever connects to that one, or answers for it, takes nothing of the old one any more. When the
network lets it hear so, it ends, and its slot is free: it rejoins in a reset state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from replay.model import TaskId

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine

TIMEOUTS_HELD_UP = 2
"""For how many timeouts heartbeats are held up where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """From `at_ms` on a task's heartbeats are held up, for so long; None: long enough to be missed."""

    task: TaskId
    at_ms: float
    duration_ms: float | None = None


class Suspicions:
    """Each meets the attempt that runs at its time; where there is none just then, the next one."""

    def __init__(self, engine: Engine, suspicions: Sequence[Suspicion]):
        self.engine = engine
        self.left = len(suspicions)
        self.last_ms = max((one.at_ms + (one.duration_ms or 0) for one in suspicions), default=0)
        self.not_made: list[Suspicion] = []
        self._all = tuple(suspicions)
        self._waiting: list[Suspicion] = []

    def start(self) -> None:
        """Schedules them."""
        for suspicion in self._all:
            self._at(int(suspicion.at_ms * 1000), suspicion)

    def suspect_at(self, task: TaskId, t_us: int) -> None:
        """Holds up a task's heartbeats from that time on, on the spur of the moment: the job does not end before."""
        self.left += 1
        self._at(t_us, Suspicion(task, t_us / 1000))

    def _at(self, t_us: int, suspicion: Suspicion) -> None:
        self.engine.scheduler.at(t_us, lambda: self._hold_up(suspicion))

    def deployed(self, attempt: Attempt) -> None:
        """A new attempt is there: a suspicion that waited for it meets it soon."""
        for suspicion in [one for one in self._waiting if one.task == attempt.task][:1]:
            self._waiting.remove(suspicion)
            self.engine.call(partial(self._hold_up, suspicion))

    def _hold_up(self, suspicion: Suspicion) -> None:
        engine = self.engine
        attempt, now_us = engine.current[suspicion.task], engine.scheduler.now_us
        if not attempt.counts or not attempt.deployed:
            self._waiting.append(suspicion)
            return
        timeout_us = engine.costs.heartbeat_timeout_us
        held_us = TIMEOUTS_HELD_UP * timeout_us if suspicion.duration_ms is None else int(suspicion.duration_ms * 1000)
        missed_us = engine.failures.detection.missed_us(attempt, now_us)
        # The first that is let through comes half a round trip later.
        if now_us + held_us + engine.costs.rtt_us // 2 <= missed_us:
            self._comes_to_nothing(suspicion)
        else:
            engine.scheduler.at(missed_us, lambda: self._suspect(suspicion, attempt, now_us + held_us))

    def _suspect(self, suspicion: Suspicion, attempt: Attempt, until_us: int) -> None:
        if not attempt.counts or self.engine.current[attempt.task] is not attempt:
            self._comes_to_nothing(suspicion)  # it failed indeed, or was rolled back
            return
        self.left -= 1
        self.engine.failures.suspect(attempt, max(until_us, self.engine.scheduler.now_us))

    def _comes_to_nothing(self, suspicion: Suspicion) -> None:
        self.left -= 1
        self.not_made.append(suspicion)
        self.engine.checkpoints.disturbed()  # the job waited for it, and may end now
