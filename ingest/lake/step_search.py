"""Searching the steps of a replay: the nearest hit on either side, which searches hit at a step, and all hits by place.

A replay is looked through window by window, small ones first, so that a hit nearby costs little and the first one can
be told while the rest is still being looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import duckdb

from ingest.lake.errors import NotWritten
from ingest.lake.step_condition import RANGE, Compiler
from ingest.lake.step_reader import StepReader, StepSession
from replay.debugger.searching.conditions import ALL_HITS, Hits, Search

FIRST_WINDOW_STEPS = 65_536
LARGEST_WINDOW_STEPS = 2_097_152
WINDOW_GROWTH = 4
TAKEN_SINCE_VERSION = 2
OPEN_ORDERS_SINCE_VERSION = 4
_EVERYWHERE = {"range_from": 0, "range_end": 2**62}
_PARAMETER = re.compile(r"\$(\w+)")
_KEPT = re.compile(r"\bkept_\d+\b")

Found = TypeVar("Found")
Asked = ParamSpec("Asked")


@dataclass(frozen=True, slots=True)
class HitBin:
    """The hits in one of the bins that a picture divides all steps into."""

    bin: int
    hits: int
    first: int
    last: int


class StepSearch:
    """One or several searches over what is written now; several hit where at least one does.

    To be used as a context: what relates steps with one another is kept as long.
    """

    def __init__(self, reader: StepReader, searches: Sequence[Search]) -> None:
        self._reader = reader
        self._steps = reader.steps
        self._searches = list(searches)
        self._compiler = Compiler()
        self._sql = [self._compiler.sql(one.condition) for one in searches]
        self._tables: dict[str, str] = {}
        if self._compiler.needs_taken and reader.version < TAKEN_SINCE_VERSION:
            raise NotWritten(
                "these steps were written before what determinants say was kept beside them: "
                "replay again to search by determinant, value or name"
            )
        if self._compiler.needs_open_orders and reader.version < OPEN_ORDERS_SINCE_VERSION:
            raise NotWritten(
                "these steps were written before it was looked at which orders the recording leaves open: "
                "replay again to search for open-order"
            )

    def __enter__(self) -> StepSearch:
        self._context = self._reader.session()
        self._session: StepSession = self._context.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._context.__exit__(None, None, None)

    # --- the nearest hit ---

    def after(self, step: int) -> int | None:
        """The first step behind this one where a search hits."""
        counted = [self._asked(self._counted_after, i, step) for i in self._counted()]
        nearest = min((one for one in counted if one is not None), default=None)
        end = self._steps if nearest is None else nearest
        plain = self._plain()
        found = self._first_in(plain, step + 1, end) if plain else None
        return nearest if found is None else found

    def before(self, step: int) -> int | None:
        """The last step before this one where a search hits."""
        counted = [self._asked(self._counted_before, i, step) for i in self._counted()]
        nearest = max((one for one in counted if one is not None), default=None)
        begin = 0 if nearest is None else nearest + 1
        plain = self._plain()
        found = self._last_in(plain, begin, min(step, self._steps)) if plain else None
        return nearest if found is None else found

    def at(self, step: int) -> list[int]:
        """Which of the searches hit at this step, by their place among them."""
        return [i for i in range(len(self._searches)) if self._asked(self._hits_at, i, step)]

    def _hits_at(self, i: int, step: int) -> bool:
        sql, hits = self._sql[i], self._searches[i].hits
        return bool(self._count(sql, step, step + 1)) and (
            hits == ALL_HITS or hits.counts(self._count(sql, 0, step + 1))
        )

    def _counted(self) -> list[int]:
        return [i for i, one in enumerate(self._searches) if one.hits != ALL_HITS]

    def _plain(self) -> str:
        """Those of which every hit counts are looked for in one go."""
        return " OR ".join(sql for one, sql in zip(self._searches, self._sql, strict=True) if one.hits == ALL_HITS)

    def _first_in(self, sql: str, begin: int, end: int) -> int | None:
        for first, last in windows(max(0, begin), end):
            found = self._asked(self._edge, "min", sql, first, last)
            if found is not None:
                return int(found)
        return None

    def _last_in(self, sql: str, begin: int, end: int) -> int | None:
        for first, last in windows(-end, -begin):
            found = self._asked(self._edge, "max", sql, -last, -first)
            if found is not None:
                return int(found)
        return None

    def _edge(self, edge: str, sql: str, begin: int, end: int) -> int | None:
        query = f"SELECT {edge}(step) FROM steps WHERE {RANGE} AND ({sql})"
        return self._rows(query, range_from=begin, range_end=end)[0][0]

    # --- counted hits ---

    def _counted_after(self, i: int, step: int) -> int | None:
        hits, so_far = self._searches[i].hits, self._count(self._sql[i], 0, step + 1)
        wanted = _counting_from(hits, so_far + 1)
        return None if wanted is None else self._nth(self._sql[i], step + 1, self._steps, wanted - so_far)

    def _counted_before(self, i: int, step: int) -> int | None:
        hits, so_far = self._searches[i].hits, self._count(self._sql[i], 0, step)
        wanted = _counting_upto(hits, so_far)
        return None if wanted is None else self._nth(self._sql[i], 0, step, wanted)

    def _count(self, sql: str, begin: int, end: int) -> int:
        query = f"SELECT count(*) FROM steps WHERE {RANGE} AND ({sql})"
        return int(self._rows(query, range_from=begin, range_end=min(end, self._steps))[0][0])

    def _nth(self, sql: str, begin: int, end: int, number: int) -> int | None:
        query = f"SELECT step FROM steps WHERE {RANGE} AND ({sql}) ORDER BY step LIMIT 1 OFFSET $skipped"
        rows = self._rows(query, range_from=max(0, begin), range_end=min(end, self._steps), skipped=number - 1)
        return int(rows[0][0]) if rows else None

    # --- all hits ---

    def binned(self, bins: int) -> Iterator[list[HitBin]]:
        """The hits of the first search by place, window by window; a bin may come in more than one of them."""
        so_far = 0
        for first, last in windows(0, self._steps):
            found, raw = self._asked(self._bins, first, last, bins, so_far)
            so_far += raw
            yield found

    def _bins(self, begin: int, end: int, bins: int, so_far: int) -> tuple[list[HitBin], int]:
        hits, sql = self._searches[0].hits, self._sql[0]
        found = f"SELECT step, $so_far + row_number() OVER (ORDER BY step) AS n FROM steps WHERE {RANGE} AND ({sql})"
        counts = "n >= $first AND (n - $first) % $every = 0 AND n <= $last"
        if hits == ALL_HITS:  # numbering them costs a sort
            found, counts = f"SELECT step, 0 AS n FROM steps WHERE {RANGE} AND ({sql})", "TRUE"
        query = f"""
            SELECT (step * $bins) // $steps AS bin, count(*) FILTER (counted), min(step) FILTER (counted),
                   max(step) FILTER (counted), count(*)
            FROM (SELECT step, {counts} AS counted FROM ({found})) GROUP BY bin ORDER BY bin
        """
        given = {"so_far": so_far, "first": hits.first, "every": hits.every, "last": hits.last or 2**62}
        rows = self._rows(query, range_from=begin, range_end=end, bins=bins, steps=max(1, self._steps), **given)
        return [HitBin(*row[:4]) for row in rows if row[1]], sum(row[4] for row in rows)

    # --- asking ---

    def _asked(self, ask: Callable[Asked, Found], *args: Asked.args, **kwargs: Asked.kwargs) -> Found:
        """Asks again if files were compacted away, or a kept table dropped, meanwhile: what was found stays true."""
        try:
            self._prepare()
            return ask(*args, **kwargs)
        except duckdb.IOException:
            if not self._session.renew():
                raise
        except duckdb.CatalogException:
            if not self._compiler.kept:
                raise
        self._tables.clear()
        self._prepare()
        return ask(*args, **kwargs)

    def _prepare(self) -> None:
        """Makes the tables that conditions look things up in, in order: one may stand on another."""
        for kept in self._compiler.kept[len(self._tables) :]:
            sql = self._named(kept.sql)
            self._tables[kept.name] = self._session.keep(sql, self._given(sql, _EVERYWHERE))

    def _named(self, sql: str) -> str:
        """With the tables' names in place of those that the compiler gave them."""
        return _KEPT.sub(lambda found: self._tables[found.group()], sql)

    def _rows(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        return self._session.rows(self._named(sql), self._given(sql, params))

    def _given(self, sql: str, params: dict[str, Any]) -> dict[str, Any]:
        """Of all values those that the query names: DuckDB takes no others."""
        named = set(_PARAMETER.findall(sql))
        return {name: value for name, value in (self._compiler.params | params).items() if name in named}


def windows(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """From begin to end in pieces that grow: what is near is told soon, what is far costs few queries."""
    size = FIRST_WINDOW_STEPS
    while begin < end:
        last = min(end, begin + size)
        yield begin, last
        begin, size = last, min(size * WINDOW_GROWTH, LARGEST_WINDOW_STEPS)


def _counting_from(hits: Hits, number: int) -> int | None:
    """The first hit from this number on that counts."""
    wanted = max(number, hits.first)
    wanted += (hits.first - wanted) % hits.every
    return wanted if hits.last is None or wanted <= hits.last else None


def _counting_upto(hits: Hits, number: int) -> int | None:
    """The last hit up to this number that counts."""
    most = number if hits.last is None else min(number, hits.last)
    return most - (most - hits.first) % hits.every if most >= hits.first else None
