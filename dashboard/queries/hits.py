"""All hits of a search, told while they are found: piece by piece by place, and at the end how many there were."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from dashboard.queries.unheard import unheard
from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from replay.debugger.searching.conditions import Search

MOST_BINS = 2_000


def all_hits(written: StepReader, search: Search, bins: int) -> Generator[dict[str, Any], None, None]:
    """Objects with `bins`, each as [bin, hits, first step, last step]; the last object has `hits` and `steps`,
    and `why` where there is none because of a name in the search that no step bears.

    Steps are divided evenly into that many bins, or one a step where there are fewer. A bin may come twice.
    """
    in_all, steps = 0, written.steps
    bins = min(bins, max(1, steps))
    with StepSearch(written, [search]) as found:
        for window in found.binned(bins):
            in_all += sum(one.hits for one in window)
            if window:
                yield {"bins": [[one.bin, one.hits, one.first, one.last] for one in window]}
    told = {"hits": in_all, "steps": steps, "bin_count": bins, "complete": written.complete}
    why = "" if in_all else unheard(written, search)
    yield {**told, "why": why} if why else told
