"""The wall clock as a causal service: one determinant a call."""

from __future__ import annotations

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
