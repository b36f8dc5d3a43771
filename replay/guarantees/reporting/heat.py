"""Recoverability over time as strips: how small a set of failures would have orphaned somebody, stretch by stretch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from replay.guarantees.reporting.words import Told

MOST_LEVEL = 4
_WIDE_PERCENT = 2.5
_LABELS = {
    "task": "Tasks that fail, another task orphaned",
    "host": "Hosts that fail, a task elsewhere orphaned",
    "task_or_world": "Tasks that fail, a task or the outside orphaned",
    "host_or_world": "Hosts that fail, a task or the outside orphaned",
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of time of one size; None where no set orphans anybody. Percent are of the whole job."""

    size: int | None
    from_us: int
    to_us: int
    left: float
    width: float

    @property
    def level(self) -> str:
        """Its shade: `any`, or 0 (worst) to `MOST_LEVEL`."""
        return "any" if self.size is None else str(min(self.size, MOST_LEVEL))

    @property
    def label(self) -> str:
        """What stands in it, where there is room."""
        return "" if self.width < _WIDE_PERCENT else "any" if self.size is None else str(self.size)

    @property
    def middle(self) -> float:
        """Where its label stands."""
        return self.left + self.width / 2

    @property
    def words(self) -> str:
        """For a reader who sees no picture."""
        when = f"{self.from_us / 1e6:,.3f} s to {self.to_us / 1e6:,.3f} s"
        if self.size is None:
            return f"{when}: no set of failures"
        return f"{when}: {'already somebody' if self.size == 0 else f'{self.size:,} of them'}"


@dataclass(frozen=True, slots=True)
class Strip:
    """One way of counting."""

    label: str
    stretches: tuple[Stretch, ...]


def strips(section: Told) -> list[Strip]:
    """Nothing where the section has no such numbers."""
    heat = section["numbers"].get("heat") or {}
    ends = heat.get("ends_us") or []
    if not ends or not ends[-1]:
        return []
    return [Strip(_LABELS[key], tuple(_stretches(heat[key], ends))) for key in _LABELS if key in heat]


def _stretches(sizes: list[int | None], ends: list[int]) -> Iterator[Stretch]:
    whole, numbered = ends[-1], list(enumerate(sizes))
    for size, run in groupby(numbered, key=_size_of):
        those = [n for n, _ in run]
        from_us, to_us = ends[those[0] - 1] if those[0] else 0, ends[those[-1]]
        yield Stretch(size, from_us, to_us, 100 * from_us / whole, 100 * (to_us - from_us) / whole)


def _size_of(one: tuple[int, Any]) -> int | None:
    size: int | None = one[1]
    return size
