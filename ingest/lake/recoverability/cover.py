"""Stretches of time by size: kept as few as they can be told, and put together into one answer over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.lake.recoverability.heap import FOREVER


@dataclass(slots=True)
class Cover:
    """Of one question: of every size when some log was that bad."""

    stretches: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def add(self, begin: Any, end: Any, size: Any) -> None:
        """More of them."""
        for one in np.unique(size):
            those = size == one
            known = self.stretches.get(int(one), (np.zeros(0, np.int64), np.zeros(0, np.int64)))
            both = np.concatenate([known[0], begin[those]]), np.concatenate([known[1], end[those]])
            self.stretches[int(one)] = united(*both)

    def merge(self, other: Cover) -> None:
        """Those of another one, too."""
        for size, (begin, end) in other.stretches.items():
            self.add(begin, end, np.full(len(begin), size))

    def steps(self) -> list[tuple[int, int | None]]:
        """From each moment on the smallest size; it begins at 0, with None where there is none."""
        bounds = np.unique(
            np.concatenate([np.zeros(1, np.int64), *(one for two in self.stretches.values() for one in two)])
        )
        values = np.full(len(bounds), -1, np.int64)
        for size in sorted(self.stretches, reverse=True):
            begin, end = (np.searchsorted(bounds, one) for one in self.stretches[size])
            deep = np.zeros(len(bounds) + 1, np.int64)
            np.add.at(deep, begin, 1)
            np.add.at(deep, end, -1)
            values[np.cumsum(deep)[:-1] > 0] = size
        new = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        # What never ended ends with nothing.
        return [(int(bounds[n]), None if values[n] < 0 else int(values[n])) for n in new if bounds[n] < FOREVER]


def united(begin: Any, end: Any) -> tuple[Any, Any]:
    """The same moments in as few stretches as possible."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    if not len(begin):
        return begin, end
    new = np.concatenate([[True], begin[1:] > end[:-1]])
    last = np.append(np.flatnonzero(new)[1:] - 1, len(begin) - 1)
    return begin[new], end[last]
