"""How long buffers are on their way: the longest that is known, and how that grows with their bytes."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

FEW_ARRIVALS = 10
"""Fewer say nothing of how long others may take."""
MARGIN = 2
"""So many times as long as the longest that is known, or as one of so many bytes takes in the mean."""
_ERRORS = 3
"""So many standard errors more than what a byte takes by what is known."""


class Growth(NamedTuple):
    """Of the mean: `us` for no byte, and `us_per_byte` at the most."""

    us: float
    us_per_byte: float


@dataclass(slots=True)
class Arrivals:
    """Of all channels."""

    longest_us: int = 0
    count: int = 0
    _took_us: array[int] = field(default_factory=lambda: array("q"))
    _sent_bytes: array[int] = field(default_factory=lambda: array("q"))

    def add(self, took_us: int, sent_bytes: int, *, waited: bool) -> None:
        """One that arrived; where it `waited` for the one before, its bytes tell nothing."""
        self.longest_us, self.count = max(self.longest_us, took_us), self.count + 1
        if not waited:
            self._took_us.append(took_us)
            self._sent_bytes.append(sent_bytes)

    def ample_us(self, sent_bytes: int, growth: Growth) -> int:
        """What is enough for one of so many bytes."""
        return int(MARGIN * max(self.longest_us, growth.us + growth.us_per_byte * sent_bytes))

    def growth(self) -> Growth:
        """By least squares; errors are those of each, as what takes longer is also further from its mean."""
        count = len(self._took_us)
        mean_us, mean_bytes = sum(self._took_us) / max(count, 1), sum(self._sent_bytes) / max(count, 1)
        spread = sum((one - mean_bytes) ** 2 for one in self._sent_bytes)
        if count < FEW_ARRIVALS or not spread:
            return Growth(0.0, 0.0)
        pairs = [*zip(self._sent_bytes, self._took_us, strict=True)]
        slope = sum((sent - mean_bytes) * (took - mean_us) for sent, took in pairs) / spread
        level = mean_us - slope * mean_bytes
        error = sqrt(sum(((sent - mean_bytes) * (took - level - slope * sent)) ** 2 for sent, took in pairs)) / spread
        return Growth(level, slope + _ERRORS * error)
