"""The wall clock as a causal service: one determinant a call, or one a period, read by a timer."""

from __future__ import annotations

from replay.errors import InvariantError
from replay.log.determinants import Timestamp
from replay.services.choices import Choices, Wall


class CausalClock:
    """Gives the same times again when the task is replayed."""

    def __init__(self, choices: Choices, wall: Wall):
        self._choices = choices
        self._wall = wall

    def now_ms(self) -> int:
        """The wall clock, logged."""
        return self._choices.sync(Timestamp, self._read).value

    def _read(self) -> Timestamp:
        return Timestamp(self._wall.now_ms())


class PeriodicClock:
    """Keeps what it read last, at an epoch's start or when its timer fired; so it may be up to a period behind."""

    def __init__(self, choices: Choices, wall: Wall, period_ms: int):
        self.period_ms = period_ms
        self._clock = CausalClock(choices, wall)
        self._kept_ms: int | None = None

    def read(self) -> int:
        """Reads the wall clock, logged, and keeps it."""
        self._kept_ms = self._clock.now_ms()
        return self._kept_ms

    def now_ms(self) -> int:
        """What was read last."""
        if self._kept_ms is None:
            raise InvariantError("the clock is asked before the first epoch has begun")
        return self._kept_ms
