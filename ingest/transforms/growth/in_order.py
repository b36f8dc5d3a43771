"""The rows of all runs in the order of their table: by place, then run by run, in time; so many at once as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ingest.transforms.growth.runs import Run
from ingest.transforms.growth.spool import Spool

ROWS_AT_ONCE = 1 << 18
RUNS_AT_ONCE = 40
"""Of so many what is mapped may be there: with the few rows of each come those around them, 64 KiB and more."""


class Piece(NamedTuple):
    """Some rows, as arrays of the same length; `whose` where the runs have it."""

    place: Any
    who: Any
    attempt: Any
    t_us: Any
    upto: Any
    whose: Any


def in_order(runs: Sequence[Run], places: int, spool: Spool) -> Iterator[Piece]:
    """Never an empty piece; a place of very many rows comes in several. The runs are kept by the spool."""
    counts = np.zeros(places, np.int64)
    for run in runs:
        counts[run.places] += np.diff(run.first)
    ends = np.cumsum(counts)
    first = done = 0
    while first < places:
        last = max(first + 1, int(np.searchsorted(ends, done + ROWS_AT_ONCE, side="right")))
        count = int(ends[last - 1]) - done
        if count > ROWS_AT_ONCE:
            yield from _run_by_run(runs, first, spool)
        elif count:
            yield _piece([(run, rows) for run in runs if (rows := _rows(run, first, last)) is not None], spool)
        first, done = last, done + count


def _run_by_run(runs: Sequence[Run], place: int, spool: Spool) -> Iterator[Piece]:
    for run in runs:
        rows = _rows(run, place, place + 1)
        if rows is not None:
            for begin in range(rows.start, rows.stop, ROWS_AT_ONCE):
                yield _piece([(run, slice(begin, min(begin + ROWS_AT_ONCE, rows.stop)))], spool)


def _rows(run: Run, first: int, last: int) -> slice | None:
    begin, end = run.first[np.searchsorted(run.places, [first, last])]
    return slice(int(begin), int(end)) if begin < end else None


def _piece(parts: Sequence[tuple[Run, slice]], spool: Spool) -> Piece:
    columns: list[list[Any]] = [[] for _ in Piece._fields]
    for n, (run, rows) in enumerate(parts):
        if n % RUNS_AT_ONCE == 0:
            spool.let_go()
        count = rows.stop - rows.start
        of_all = (np.full(count, one, np.int64) for one in (run.who, run.attempt))
        whose = run.whose[rows] if run.whose is not None else np.zeros(count, np.int64)
        values = (run.place[rows], *of_all, run.t_us[rows], run.upto[rows], whose)
        for column, value in zip(columns, values, strict=True):
            column.append(value.copy())
    place, *rest = (np.concatenate(column) for column in columns)
    if len(parts) == 1:
        return Piece(place, *rest)
    order = np.argsort(place, kind="stable")
    return Piece(place[order], *(one[order] for one in rest))
