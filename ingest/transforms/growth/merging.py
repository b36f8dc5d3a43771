"""What an attempt came to depend on, as those read it who take its buffers: in time, and each as far as its cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingest.transforms.growth.spool import Spool

Rows = tuple[Any, Any, Any]
"""(t_us, place, upto), in time."""


class Depended:
    """The rows of one attempt, as they are made."""

    def __init__(self) -> None:
        self.parts: list[Rows] = []

    def __len__(self) -> int:
        return sum(len(one[0]) for one in self.parts)

    def add(self, rows: Rows, spool: Spool) -> None:
        """Those that come next."""
        t_us, place, upto = (spool.keep(one.copy()) for one in rows)
        self.parts.append((t_us, place, upto))


class Cursor:
    """How far one receiver has merged them, by one of its inputs."""

    def __init__(self, of: Depended | None) -> None:
        self._parts: Sequence[Rows] = of.parts if of is not None else ()
        self._part = self._row = 0

    def upto(self, t_us: int) -> list[Rows]:
        """What is not merged yet and was there by then."""
        found: list[Rows] = []
        while self._part < len(self._parts):
            rows = self._parts[self._part]
            last = max(self._row, int(np.searchsorted(rows[0], t_us, side="right")))
            if last > self._row:
                found.append(tuple(one[self._row : last] for one in rows))
            if last < len(rows[0]):
                self._row = last
                break
            self._part, self._row = self._part + 1, 0
        return found


def side_by_side(of_each: Sequence[list[Rows]]) -> tuple[tuple[Any, ...], int]:
    """All of them one behind the other, and where those of each begin and end; behind them one that has none."""
    sizes = [sum(len(part[0]) for part in parts) for parts in of_each]
    ends = np.cumsum([0, *sizes])
    none = [np.zeros(0, np.int64)]
    columns = [np.concatenate([*none, *(part[n] for parts in of_each for part in parts)]) for n in range(3)]
    first, last = np.append(ends[:-1], ends[-1]), np.append(ends[1:], ends[-1])
    return (first, last, np.zeros(len(first), np.int64), *columns), int(ends[-1])
