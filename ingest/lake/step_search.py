"""Searching the steps of a replay: the nearest hit on either side, which searches hit at a step, and all hits by place.

A replay is looked through window by window, small ones first, so that a hit nearby costs little and the first one can
be told while the rest is still being looked for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import duckdb
import numpy as np

from ingest.lake.errors import HiddenValues, NotWritten, QueryTooLong
from ingest.lake.step_arrays import Numbers
from ingest.lake.step_condition import Compiler
from ingest.lake.step_near import NearSteps, numbered
from ingest.lake.step_plan import Plan, planned
from ingest.lake.step_reader import LIMITS, StepReader, StepSession
from replay.debugger.searching.conditions import ALL_HITS, AnyOf, Hits, Search, asks_for_values
from replay.errors import check

FIRST_WINDOW_STEPS = 65_536
LARGEST_WINDOW_STEPS = 2_097_152
WINDOW_GROWTH = 32
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
        self._plans = [planned(one.condition, self._compiler) for one in searches]
        # Those of which every hit counts are looked for in one go.
        plain = tuple(one.condition for one in searches if one.hits == ALL_HITS)
        self._plain = planned(plain[0] if len(plain) == 1 else AnyOf(plain), self._compiler) if plain else None
        self._tables: dict[str, str] = {}
        self._codes: dict[str, str | None] = {}
        self._until_s = 0.0
        if reader.sealed and any(map(asks_for_values, searches)):
            raise HiddenValues("this search compares values, and they are hidden here")
        near = NearSteps(self._columns, self._coded, self._steps)
        self._found = near.arrays
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
        counted = [self._counted_after(i, step) for i in self._counted()]
        nearest = min((one for one in counted if one is not None), default=None)
        end = self._steps if nearest is None else nearest
        found = None if self._plain is None else self._first_in(self._plain, step + 1, end)
        return nearest if found is None else found

    def before(self, step: int) -> int | None:
        """The last step before this one where a search hits."""
        counted = [self._counted_before(i, step) for i in self._counted()]
        nearest = max((one for one in counted if one is not None), default=None)
        begin = 0 if nearest is None else nearest + 1
        found = None if self._plain is None else self._last_in(self._plain, begin, min(step, self._steps))
        return nearest if found is None else found

    def at(self, step: int) -> list[int]:
        """Which of the searches hit at this step, by their place among them."""
        return [i for i in range(len(self._searches)) if self._hits_at(i, step)]

    def _hits_at(self, i: int, step: int) -> bool:
        hits = self._searches[i].hits
        return bool(len(self._in(self._plans[i], step, step + 1))) and (
            hits == ALL_HITS or hits.counts(self._count(self._plans[i], 0, step + 1))
        )

    def _counted(self) -> list[int]:
        return [i for i, one in enumerate(self._searches) if one.hits != ALL_HITS]

    def _first_in(self, plan: Plan, begin: int, end: int) -> int | None:
        for first, last in windows(max(0, begin), end):
            if len(found := self._in(plan, first, last)):
                return int(found[0])
        return None

    def _last_in(self, plan: Plan, begin: int, end: int) -> int | None:
        for first, last in windows(-end, -begin):
            if len(found := self._in(plan, -last, -first)):
                return int(found[-1])
        return None

    # --- counted hits ---

    def _counted_after(self, i: int, step: int) -> int | None:
        hits, so_far = self._searches[i].hits, self._count(self._plans[i], 0, step + 1)
        wanted = _counting_from(hits, so_far + 1)
        if wanted is None:
            return None
        for first, last in windows(max(0, step + 1), self._steps):
            found = self._in(self._plans[i], first, last)
            if so_far + len(found) >= wanted:
                return int(found[wanted - so_far - 1])
            so_far += len(found)
        return None

    def _counted_before(self, i: int, step: int) -> int | None:
        hits, end = self._searches[i].hits, min(step, self._steps)
        so_far = self._count(self._plans[i], 0, end)
        wanted = _counting_upto(hits, so_far)
        if wanted is None:
            return None
        for first, last in windows(-end, 0):
            found = self._in(self._plans[i], -last, -first)
            so_far -= len(found)
            if wanted > so_far:
                return int(found[wanted - so_far - 1])
        return None

    # --- all hits ---

    def binned(self, bins: int) -> Iterator[list[HitBin]]:
        """The hits of the first search by place, window by window; a bin may come in more than one of them."""
        for found in self._counting():
            yield _binned(found, bins, self._steps)

    def numbered(self, step: int) -> tuple[int, int]:
        """How many hits the first search has, and how many of them lie before a step."""
        in_all = before = 0
        for found in self._counting():
            in_all += len(found)
            before += int(np.searchsorted(found, step))
        return in_all, before

    def listed(self, first: int, count: int) -> list[int]:
        """The hits of the first search from one's place among them on."""
        skipped, hits = first, list[int]()
        for found in self._counting():
            hits += found[skipped : skipped + count - len(hits)].tolist()
            skipped = max(0, skipped - len(found))
            if len(hits) >= count:
                break
        return hits

    def _counting(self) -> Iterator[Numbers]:
        """Those of the first search that count, window by window."""
        so_far = 0
        for first, last in windows(0, self._steps):
            found = self._in(self._plans[0], first, last)
            yield _that_count(found, self._searches[0].hits, so_far)
            so_far += len(found)

    # --- asking ---

    def _in(self, plan: Plan, begin: int, end: int) -> Numbers:
        return self._asked(self._found.of, plan, begin, end)

    def _count(self, plan: Plan, begin: int, end: int) -> int:
        return self._asked(self._found.count, plan, begin, end)

    def _asked(self, ask: Callable[Asked, Found], *args: Asked.args, **kwargs: Asked.kwargs) -> Found:
        """Asks again if files were compacted away, or a kept table dropped, meanwhile: what was found stays true."""
        self._until_s = time.monotonic() + LIMITS.timeout_s
        try:
            return ask(*args, **kwargs)
        except duckdb.IOException:
            if not self._session.renew():
                raise
        except duckdb.CatalogException:
            if not self._tables:
                raise
        self._tables.clear()
        self._codes.clear()
        return ask(*args, **kwargs)

    def _columns(self, sql: str, **params: Any) -> dict[str, Any]:
        """One of the queries that answer a question; the time is that of all of them."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise QueryTooLong(f"the query took longer than {LIMITS.timeout_s:g} s. Ask for a narrower range.")
        return self._session.columns(self._named(sql), self._given(sql, params), timeout_s=left_s)

    def _coded(self, column: str) -> str | None:
        if column not in self._codes:
            found = self._session.rows(f"SELECT DISTINCT {column}, hash({column}) FROM steps")
            hashes = {code for name, code in found if name is not None}
            lacking = any(name is None for name, _ in found)
            check(len(hashes) == len(found) - lacking, f"two names of {column} have one hash")
            self._codes[column] = numbered(column, hashes, lacking) if len(found) > 1 else None
        return self._codes[column]

    def _named(self, sql: str) -> str:
        """With the tables' names in place of those that the compiler gave them; what is not there yet is made."""
        for name in set(_KEPT.findall(sql)) - self._tables.keys():
            kept = next(one.sql for one in self._compiler.kept if one.name == name)  # may stand on others itself
            self._tables[name] = self._session.keep(self._named(kept), self._given(kept, _EVERYWHERE))
        return _KEPT.sub(lambda found: self._tables[found.group()], sql)

    def _given(self, sql: str, params: dict[str, Any]) -> dict[str, Any]:
        """Of all values those that the query names: DuckDB takes no others."""
        named = set(_PARAMETER.findall(sql))
        return {name: value for name, value in (self._compiler.params | params).items() if name in named}


def _that_count(found: Numbers, hits: Hits, so_far: int) -> Numbers:
    """Those that count of the hits behind so many others."""
    first = max(hits.first - 1 - so_far, (hits.first - 1 - so_far) % hits.every)
    last = None if hits.last is None else max(0, hits.last - so_far)
    return found[first : last : hits.every]


def _binned(found: Numbers, bins: int, steps: int) -> list[HitBin]:
    if not len(found):
        return []
    placed = found * bins // steps
    begins = np.flatnonzero(np.diff(placed, prepend=-1)).tolist()
    ends = [*begins[1:], len(found)]
    return [
        HitBin(int(placed[i]), end - i, int(found[i]), int(found[end - 1])) for i, end in zip(begins, ends, strict=True)
    ]


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
