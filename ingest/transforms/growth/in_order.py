"""The rows of all runs in the order of their table: by place, then run by run, in time; so many at once as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ingest.transforms.growth.runs import Run

ROWS_AT_ONCE = 1 << 20


class Piece(NamedTuple):
    """Some rows, as arrays of the same length; `whose` where the runs have it."""

    place: Any
    who: Any
    attempt: Any
    t_us: Any
    upto: Any
    whose: Any


def in_order(runs: Sequence[Run], places: int) -> Iterator[Piece]:
    """Never cuts a place in two."""
    counts = np.zeros(places, np.int64)
    for run in runs:
        counts[run.places] += np.diff(run.first)
    first = 0
    while first < places:
        sums = np.cumsum(counts[first:])
        last = first + max(1, int(np.searchsorted(sums, ROWS_AT_ONCE, side="right")))
        if sums[min(last, places) - first - 1]:
            yield _piece(runs, first, last)
        first = last


def _piece(runs: Sequence[Run], first: int, last: int) -> Piece:
    columns: list[list[Any]] = [[] for _ in Piece._fields]
    for run in runs:
        begin, end = run.first[np.searchsorted(run.places, [first, last])]
        if begin == end:
            continue
        rows = slice(int(begin), int(end))
        of_all = (np.full(int(end - begin), one, np.int64) for one in (run.who, run.attempt))
        whose = run.whose[rows] if run.whose is not None else np.zeros(int(end - begin), np.int64)
        for column, values in zip(
            columns, (run.place[rows], *of_all, run.t_us[rows], run.upto[rows], whose), strict=True
        ):
            column.append(values)
    place, *rest = (np.concatenate(column) for column in columns)
    order = np.argsort(place, kind="stable")
    return Piece(place[order], *(one[order] for one in rest))
