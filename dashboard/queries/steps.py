"""Steps of a replay, finished or still being written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dashboard import store
from dashboard.models import Replay
from dashboard.problems import Problem
from ingest.lake.errors import NotPublished
from ingest.lake.step_reader import StepReader
from ingest.lake.step_schema import STEPS

COLUMNS = [field.name for field in STEPS.schema]
SELECT = f"SELECT {', '.join(COLUMNS)} FROM steps"


def reading(replay: Replay) -> StepReader:
    """Its steps as far as they are written; Problem 409 where none are."""
    try:
        return StepReader(store.replay_path(replay.id))
    except NotPublished:
        raise Problem(409, f"The replay is {replay.status}; it has no steps to read.", code="not-ready") from None


def check_written(written: StepReader, step: int) -> None:
    if step >= written.steps:
        raise Problem(404, f"There is no step {step}: {written.steps} are written so far.", code="no-such-step")


def numbered(written: StepReader, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The steps of these numbers; a number without a step is left out."""
    wanted = sorted(set(numbers))
    rows = written.rows(f"{SELECT} WHERE step IN (SELECT unnest($steps))", {"steps": wanted}) if wanted else []
    return {row[0]: as_step(row) for row in rows}


def as_step(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(COLUMNS, row, strict=True))
