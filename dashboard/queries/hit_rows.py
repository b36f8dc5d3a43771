"""The hits of a search as a list: each step that it finds, and which of its changes of state meet the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ingest.lake.step_condition import Compiler
from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from replay.debugger.searching.conditions import AnyOf, Changes, Search, walked

CHANGES_SHOWN = 3
VALUE_SHOWN = 80
_STEPS_SQL = "SELECT * FROM steps WHERE step IN ({steps}) ORDER BY step"
_CHANGES_SQL = """
SELECT step, key, left(before, $shown + 1), left(after, $shown + 1) FROM state_changes
WHERE step IN ({steps}) AND {met} ORDER BY step, key
"""


@dataclass(frozen=True, slots=True)
class Change:
    """None where there was, or is, no such key."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    row: dict[str, Any]
    changes: list[Change]
    more_changes: int


@dataclass(frozen=True, slots=True)
class HitList:
    """Rows of the list, from the place of the first of them on."""

    total: int
    first: int
    rows: list[Hit]


def hits_around(written: StepReader, search: Search, step: int, count: int) -> HitList:
    """As many as there is room for around a step, which need not be a hit itself."""
    with StepSearch(written, [search]) as found:
        total, before = found.numbered(step)
        first = max(0, min(before - count // 2, total - count))
        return HitList(total, first, _hits(written, search, found.listed(first, count)))


def hits_from(written: StepReader, search: Search, first: int, count: int) -> list[Hit]:
    with StepSearch(written, [search]) as found:
        return _hits(written, search, found.listed(first, count))


def _hits(written: StepReader, search: Search, steps: list[int]) -> list[Hit]:
    if not steps:
        return []
    listed = ", ".join(map(str, steps))
    names, rows = written.columns_and_rows(_STEPS_SQL.format(steps=listed), {})
    changes = _changes(written, search, listed)
    found = []
    for row in (dict(zip(names, values, strict=True)) for values in rows):
        own = changes.get(row["step"], [])
        found.append(Hit(row, own[:CHANGES_SHOWN], max(0, len(own) - CHANGES_SHOWN)))
    return found


def _changes(written: StepReader, search: Search, steps: str) -> dict[int, list[Change]]:
    """Those that the search asks for; of one that asks for none, none."""
    asked = tuple(one.part for one in walked(search.condition) if isinstance(one, Changes))
    if not asked:
        return {}
    compiler = Compiler()
    met = compiler.sql(AnyOf(asked))
    found: dict[int, list[Change]] = {}
    sql = _CHANGES_SQL.format(steps=steps, met=met)
    for step, key, before, after in written.rows(sql, {**compiler.params, "shown": VALUE_SHOWN}):
        found.setdefault(step, []).append(Change(key, _short(before), _short(after)))
    return found


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_SHOWN else f"{value[:VALUE_SHOWN]}…"
