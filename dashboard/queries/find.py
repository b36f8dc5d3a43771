"""The nearest step, forwards or backwards, at which a search hits."""

from __future__ import annotations

from typing import Any

from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from replay.debugger.searching.conditions import Search
from replay.debugger.searching.structured import read


def nearest(written: StepReader, *, after: int | None, before: int | None, where: str) -> dict[str, Any] | None:
    found = nearest_step(written, [read(where)], after=after, before=before)
    return None if found is None else written.step(found)


def nearest_step(
    written: StepReader, searches: list[Search], *, after: int | None = None, before: int | None = None
) -> int | None:
    """Of several searches the nearest hit of any."""
    with StepSearch(written, searches) as search:
        if after is not None:
            return search.after(after)
        return search.before(0 if before is None else before)
