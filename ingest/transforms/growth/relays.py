"""What attempts held of others' logs, for those who ask who got it from them: by place, in time, in heaps of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingest.transforms.growth.in_order import Piece, in_order
from ingest.transforms.growth.runs import Run
from ingest.transforms.growth.spool import Spool

_BEHIND_ALL = np.iinfo(np.int64).max


class Relays:
    """Of each attempt its places, and of each place where its rows begin; behind these where they end."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._spans: dict[tuple[str, int], tuple[int, int]] = {}
        self._places, self._first = spool.heap(), spool.heap()
        self._t_us, self._most, self._whose = spool.heap(), spool.heap(), spool.heap()

    def add(self, task: str, attempt: int, runs: Sequence[Run], places: int) -> None:
        """All that it came to hold."""
        begin, last, most = len(self._places), -1, 0
        for piece in in_order(runs, places, self._spool):
            new = np.flatnonzero(np.diff(piece.place, prepend=last))
            self._places.add(piece.place[new])
            self._first.add(new + len(self._t_us))
            so_far = _most(piece, new, most if piece.place[0] == last else 0)
            last, most = int(piece.place[-1]), int(so_far[-1])
            for heap, column in ((self._t_us, piece.t_us), (self._most, so_far), (self._whose, piece.whose)):
                heap.add(column)
        self._spans[task, attempt] = (begin, len(self._places))
        self._places.add([_BEHIND_ALL])
        self._first.add([len(self._t_us)])

    def of(self, attempts: Sequence[tuple[str, int]]) -> tuple[Any, ...]:
        """As `kernels.hold` takes them."""
        spans = np.array([self._spans.get(one, (0, 0)) for one in attempts], np.int64).reshape(-1, 2)
        columns = (self._places, self._first, self._t_us, self._most, self._whose)
        return (spans[:, 0].copy(), spans[:, 1].copy(), *(one.all() for one in columns))


def _most(piece: Piece, new: Any, before: int) -> Any:
    """The greatest so far, within each place; those of its first place go on behind `before`."""
    if not len(new) or new[0]:
        new = np.append(0, new)
    upto = piece.upto.copy()
    upto[0] = max(upto[0], before)
    # Lifted by place, so that one running maximum does for all of them.
    lift = np.repeat(np.arange(len(new)), np.diff(new, append=len(upto))) * (int(upto.max()) + 1)
    return np.maximum.accumulate(upto + lift) - lift
