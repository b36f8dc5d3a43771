"""Many places at once as the arrays that the compiled walk takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.lake.recoverability.heap import DEPENDED, FOREVER, HELD, OUTSIDE, OWN
from ingest.lake.recoverability.streams import Key, Rows

ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class PlaceRows:
    """One place: its rows, what only the outside depends on, and its task's steps."""

    key: Key
    held: Rows | None
    depended: Rows
    beside: Rows | None
    own: Sequence[tuple[int, int, int, int, int]]
    task: int
    stable_us: int


@dataclass(slots=True)
class Chunk:
    """`places`, `runs`, `rows` and `own` as `kernel.walk` takes them."""

    keys: list[Key]
    places: tuple[Any, Any, Any]
    runs: tuple[Any, Any, Any, Any]
    rows: tuple[Any, ...]
    own: tuple[Any, ...]
    steps: int
    """At most so many."""


def matched(held: Iterator[tuple[Key, Rows]], depended: Iterator[tuple[Key, Rows]]) -> Iterator[tuple[Key, Any, Rows]]:
    """Of every place that somebody depends on, both; both come in the same order."""
    have = next(held, None)
    for key, rows in depended:
        while have is not None and have[0] < key:
            have = next(held, None)
        yield key, have[1] if have is not None and have[0] == key else None, rows


Seen = Callable[[Any, Any, Any], Any]
"""Of executions, times and epochs: when the outside depended on it as well, if ever."""


def chunks(places: Iterable[PlaceRows], seen: Seen) -> Iterator[Chunk]:
    """As many places as make so many rows."""
    some: list[PlaceRows] = []
    rows = 0
    for one in places:
        some.append(one)
        rows += len(one.depended.t_us) + (len(one.held.t_us) if one.held is not None else 0)
        if rows >= ROWS_AT_ONCE:
            yield _chunk(some, seen)
            some, rows = [], 0
    if some:
        yield _chunk(some, seen)


@dataclass(slots=True)
class _Side:
    """The rows of one table, and their runs."""

    kind: int
    parts: list[Rows] = field(default_factory=list)
    where: list[int] = field(default_factory=list)

    def runs(self) -> tuple[Rows, tuple[Any, Any, Any, Any, Any]]:
        """All rows, and of each run its place, kind, execution and where it begins and ends."""
        none = np.zeros(0, np.int64)
        rows = (
            Rows(*(np.concatenate([none, *column]).astype(np.int64) for column in zip(*self.parts, strict=True)))
            if (self.parts)
            else Rows(none, none, none, none)
        )
        place = np.repeat(np.array(self.where, np.int64), [len(one.t_us) for one in self.parts])
        new = np.ones(len(place), np.bool_)
        new[1:] = (place[1:] != place[:-1]) | (rows.who[1:] != rows.who[:-1])
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(place)) if len(first) else first
        return rows, (place[first], np.full(len(first), self.kind, np.int64), rows.who[first], first, last)


def _chunk(some: list[PlaceRows], when_seen: Seen) -> Chunk:
    held, depended = _Side(HELD), _Side(DEPENDED)
    for n, one in enumerate(some):
        if one.held is not None:
            held.parts.append(one.held)
            held.where.append(n)
        for rows in (one.depended, one.beside):
            if rows is not None:
                depended.parts.append(rows)
                depended.where.append(n)
    has, of_held = held.runs()
    needs, of_depended = depended.runs()
    epochs = np.array([some[n].key[0] for n in depended.where], np.int64)
    seen = when_seen(needs.who, needs.t_us, np.repeat(epochs, [len(one.t_us) for one in depended.parts]))
    # Where the outside never depends on the first row of a run it depends on none of it.
    outside = np.flatnonzero(seen[of_depended[3]] < FOREVER)
    of_outside = tuple(column[outside] for column in of_depended)
    of_outside = (of_outside[0], np.full(len(outside), OUTSIDE, np.int64), *of_outside[2:])
    # What only the outside depends on is told beside the table.
    own, of_own = _own(some)
    tasks = needs.who[of_depended[3]] >= 0
    runs = [
        np.concatenate(columns)
        for columns in zip(of_held, tuple(column[tasks] for column in of_depended), of_outside, of_own, strict=True)
    ]
    order = np.argsort(runs[0], kind="stable")
    begin = np.searchsorted(runs[0][order], np.arange(len(some) + 1))
    places = (
        begin,
        np.array([one.task for one in some], np.int64),
        np.array([one.stable_us for one in some], np.int64),
    )
    all_rows = (has.t_us, needs.t_us, seen, has.upto, needs.upto, has.whose)
    steps = len(has.t_us) + 2 * len(needs.t_us) + len(own[0]) + 2 * len(order)
    return Chunk([one.key for one in some], places, tuple(one[order] for one in runs[1:]), all_rows, own, steps)  # type: ignore[arg-type]


def _own(some: list[PlaceRows]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    table = np.array([step for one in some for step in one.own], np.int64).reshape(-1, 5)
    sizes = np.array([len(one.own) for one in some], np.int64)
    last = np.cumsum(sizes)
    count = len(some)
    runs = (np.arange(count), np.full(count, OWN, np.int64), np.zeros(count, np.int64), last - sizes, last)
    return tuple(np.ascontiguousarray(column) for column in table.T), runs
