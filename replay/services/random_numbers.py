"""Random numbers as a causal service: one determinant a call, or one seed an epoch that gives all of them."""

from __future__ import annotations

from replay.errors import InvariantError
from replay.log.determinants import Rng
from replay.services.choices import Choices, Wall

_MASK = (1 << 64) - 1
_LARGEST_BOUND = 1 << 31


def _within(number: int, bound: int) -> int:
    """A 32-bit number, brought below the bound."""
    return (number & 0xFFFFFFFF) * bound >> 32


def _check_bound(bound: int) -> None:
    if not 1 <= bound <= _LARGEST_BOUND:
        raise InvariantError(f"a random number's bound lies between 1 and {_LARGEST_BOUND}, not {bound}")


class SplitMix:
    """SplitMix64: integers only, so that it gives the same numbers on every machine and in every version."""

    __slots__ = ("_state",)

    def __init__(self, seed: int):
        self._state = seed & _MASK

    def next_int32(self) -> int:
        """The next 32 bits."""
        self._state = x = (self._state + 0x9E3779B97F4A7C15) & _MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        return (x ^ (x >> 31)) >> 32


class RandomPerCall:
    """Logs every number that it gives."""

    def __init__(self, choices: Choices, wall: Wall):
        self._choices = choices
        self._wall = wall

    def next_int(self, bound: int) -> int:
        """From 0 up to, and without, `bound`."""
        _check_bound(bound)
        return self._choices.sync(
            Rng,
            lambda: Rng(_within(self._wall.random_int32(), bound)),
            lambda logged: None if 0 <= logged.value < bound else f"a random number below {bound}",
        ).value


class RandomPerEpoch:
    """Logs a seed at an epoch's start; the epoch's numbers follow from it."""

    def __init__(self, choices: Choices, wall: Wall):
        self._choices = choices
        self._wall = wall
        self._numbers: SplitMix | None = None

    def begin_epoch(self) -> None:
        """Draws the epoch's seed, or takes it from the log."""
        seed = self._choices.sync(Rng, lambda: Rng(self._wall.random_int32())).value
        self._numbers = SplitMix(seed)

    def next_int(self, bound: int) -> int:
        """From 0 up to, and without, `bound`."""
        _check_bound(bound)
        if self._numbers is None:
            raise InvariantError("random numbers are asked for before the first epoch has begun")
        return _within(self._numbers.next_int32(), bound)
