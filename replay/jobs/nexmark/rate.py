"""A rate that rises and falls: at what time the nth event comes into being, in integers, and how many by when."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

SHAPES = ("steady", "sine", "square")
_STEPS = {"steady": 1, "sine": 10, "square": 2}
_MICRO = 1_000_000
_NS_PER_S = 1_000_000_000
_UNIT = _MICRO * _NS_PER_S
"""One event, as millionths of an event in a second, times nanoseconds."""


class Rate:
    """Steps of one length, each of its own rate, over and over."""

    def __init__(self, per_s: Sequence[float], step_ns: int):
        self._micros = [max(1, round(rate * _MICRO)) for rate in per_s]
        self._step_ns = step_ns
        self._ends = list(accumulate(micros * step_ns for micros in self._micros))
        self._period_ns = step_ns * len(self._micros)

    @classmethod
    def shaped(cls, shape: str, *, low_per_s: float, high_per_s: float, period_ms: int) -> Rate:
        """Between two rates, as the published generators do it: ten steps of a sine, or two of a square."""
        count = _STEPS[shape]
        middle, swing = (low_per_s + high_per_s) / 2, (high_per_s - low_per_s) / 2
        if shape == "steady":
            rates = [middle]
        elif shape == "square":
            rates = [high_per_s, low_per_s]
        else:
            rates = [middle + swing * math.cos(2 * math.pi * i / count) for i in range(count)]
        return cls(rates, max(1, period_ms * _MICRO // count))

    @property
    def lowest_per_s(self) -> float:
        """The rate of the slowest step."""
        return min(self._micros) / _MICRO

    def at_ns(self, n: int) -> int:
        """When event `n` comes into being."""
        cycle, rest = divmod(n * _UNIT, self._ends[-1])
        step = bisect_right(self._ends, rest)
        before = self._ends[step - 1] if step else 0
        return cycle * self._period_ns + step * self._step_ns + (rest - before) // self._micros[step]

    def there_at(self, t_ns: int) -> int:
        """How many events have come into being at a time: those for which `at_ns` is no later."""
        cycle, rest = divmod(t_ns, self._period_ns)
        step = rest // self._step_ns
        area = (self._ends[step - 1] if step else 0) + (rest - step * self._step_ns) * self._micros[step]
        there = (cycle * self._ends[-1] + area) // _UNIT
        # Only `at_ns` decides: rounding must not let the two disagree.
        while self.at_ns(there) <= t_ns:
            there += 1
        while there and self.at_ns(there - 1) > t_ns:
            there -= 1
        return there
