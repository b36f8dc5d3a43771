"""How the coordinator hears of failures: broken connections, heartbeats that stay away, and what is not listened to."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from replay.errors import WrongSetting
from replay.model import TaskId
from replay.runtime.costs import HEARTBEAT_BYTES

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine


class Detection:
    """Heartbeats are messages like others, but nothing follows from one that comes: so only the last is looked at.

    Each attempt beats from its deployment on. When it beats no more, or its heartbeats are held up, the time of its
    last one that came says when the coordinator will miss it.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.signals_ignored = 0
        self._deaf_until_us: dict[TaskId, int] = {}
        costs = engine.costs
        if costs.heartbeat_timeout_us <= costs.heartbeat_us:
            raise WrongSetting(
                f"heartbeats every {costs.heartbeat_us / 1000:g} ms are missed after "
                f"{costs.heartbeat_timeout_us / 1000:g} ms, before the next one can come",
                remedy="Let them time out later, or send them more often",
            )

    # --- heartbeats ---

    def missed_us(self, attempt: Attempt, silent_us: int) -> int:
        """When the coordinator misses an attempt that sends no heartbeat any more from a time on."""
        costs = self.engine.costs
        beaten_us = silent_us - attempt.since_us
        # Not all beat at the same time.
        phase_us = (
            zlib.crc32(f"{self.engine.run_of.seed} {attempt.task} {attempt.number}".encode()) % costs.heartbeat_us
        )
        last_us = max(0, (beaten_us - phase_us) // costs.heartbeat_us * costs.heartbeat_us + phase_us)
        return attempt.since_us + last_us + int(costs.wire_us(HEARTBEAT_BYTES)) + costs.heartbeat_timeout_us

    def awaits_heartbeat(self, number: int, attempt: Attempt, re: int) -> None:
        """An attempt failed: it is missed at the latest when its heartbeats time out."""
        self._miss_at(self.missed_us(attempt, self.engine.scheduler.now_us), number, re)

    def _miss_at(self, t_us: int, number: int, re: int) -> None:
        self.engine.scheduler.at(t_us, lambda: self._missed(number, re))

    def _missed(self, number: int, re: int) -> None:
        task = self.engine.failures.all[number].attempt.task
        deaf_until_us = self._deaf_until_us.get(task, 0)
        if self._is_open(number) and self.engine.scheduler.now_us < deaf_until_us:
            self._miss_at(deaf_until_us, number, re)  # heartbeats that stay away stay away: looked at again then
        else:
            self.heard(number, "heartbeat", re)

    # --- connections ---

    def connection_lost(self, number: int, re: int) -> None:
        """A neighbour tells that its connection to a failed attempt broke."""
        task = self.engine.failures.all[number].attempt.task
        if self.engine.scheduler.now_us < self._deaf_until_us.get(task, 0):
            self.signals_ignored += 1
        else:
            self.heard(number, "connection", re)

    # --- what comes of it ---

    def _is_open(self, number: int) -> bool:
        failure = self.engine.failures.all[number]
        return not failure.detected and self.engine.current[failure.attempt.task] is failure.attempt

    def heard(self, number: int, by: str, re: int) -> None:
        """The first signal of a failure is its detection; later ones, about the same attempt, say nothing new."""
        if not self._is_open(number):
            self.signals_ignored += 1
            return
        task = self.engine.failures.all[number].attempt.task
        self._deaf_until_us[task] = self.engine.scheduler.now_us + self.engine.costs.detection_window_us
        self.engine.failures.detected(number, by, re)
