"""The state after a step, page by page: for each key the last value it was given, up to that step."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dashboard.cursors import from_cursor, to_cursor
from ingest.lake.step_reader import StepReader


def after(
    written: StepReader, step: int, prefix: str, cursor: str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """A page of entries by key, and the cursor of the next page. A key that was removed is not there."""
    key, task = from_cursor(cursor, (str, str)) if cursor else (None, None)
    begin = (key, task) if key is not None and task is not None else None
    found = written.state(step, prefix=prefix, after=begin, limit=limit + 1)
    page = found[:limit]
    following = to_cursor([page[-1].key, page[-1].task]) if len(found) > limit else None
    return [asdict(entry) for entry in page], following
