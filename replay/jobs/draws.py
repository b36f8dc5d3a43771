"""Chance for generators: a pure function of a seed, the same on every machine, so that any offset can be read again."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    """SplitMix64's finalizer: 64 bits that look like chance."""
    x = (x + _STEP) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Draws:
    """A row of draws from one seed."""

    __slots__ = ("_at",)

    def __init__(self, seed: int):
        self._at = seed & _MASK

    def below(self, bound: int) -> int:
        """From 0 up to, and without, `bound`."""
        drawn = mixed(self._at)
        self._at = (self._at + _STEP) & _MASK
        return drawn % bound

    def part(self) -> float:
        """From 0 up to, and without, 1."""
        return self.below(1 << 53) / (1 << 53)
