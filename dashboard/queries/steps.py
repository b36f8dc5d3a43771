"""Steps of a replay, finished or still being written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dashboard import store
from dashboard.models import Replay
from dashboard.problems import Problem
from ingest.lake.errors import NotPublished
from ingest.lake.step_schema import STEPS

Written = Any

COLUMNS = [field.name for field in STEPS.schema]
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM steps"


@contextmanager
def reading(replay: Replay) -> Iterator[Written]:
    """Its steps as far as they are written; Problem 409 where none are."""
    from ingest.lake.steps import StepReader

    try:
        written = StepReader(store.replay_path(replay.id))
    except NotPublished:
        raise Problem(409, f"The replay is {replay.status}; it has no steps to read.", code="not-ready") from None
    try:
        yield written
    finally:
        written.close()


def between(written: Written, first: int, end: int) -> list[dict[str, Any]]:
    """From `first`, inclusive, to `end`, exclusive."""
    sql = f"{_SELECT} WHERE step >= $first AND step < $end ORDER BY step"
    return [as_step(row) for row in written.rows(sql, {"first": first, "end": end})]


def numbered(written: Written, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The steps of these numbers; a number without a step is left out."""
    wanted = sorted(set(numbers))
    rows = written.rows(f"{_SELECT} WHERE step IN (SELECT unnest($steps))", {"steps": wanted}) if wanted else []
    return {row[0]: as_step(row) for row in rows}


def count(written: Written) -> int:
    return int(written.rows("SELECT COALESCE(max(step) + 1, 0) FROM steps")[0][0])


def check_written(written: Written, step: int) -> None:
    have = count(written)
    if step >= have:
        raise Problem(404, f"There is no step {step}: {have} are written so far.", code="no-such-step")


def as_step(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(COLUMNS, row, strict=True))
