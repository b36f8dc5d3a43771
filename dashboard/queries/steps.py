"""Steps of a replay, finished or still being written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dashboard import payloads, store
from dashboard.models import Replay
from dashboard.problems import Problem
from ingest.lake.errors import NotPublished
from ingest.lake.step_reader import StepReader
from ingest.lake.step_schema import STEPS

NEAR_STEPS = 4_096
FARTHER = 32

Found = TypeVar("Found")

COLUMNS = [field.name for field in STEPS.schema]
SELECT = f"SELECT {', '.join(COLUMNS)} FROM steps"


def reading(replay: Replay) -> StepReader:
    """Its steps as far as they are written, as this request may read them; Problem 409 where none are."""
    try:
        sealed = not payloads.opened(replay.job_id)
        return StepReader(store.replay_path(replay.id), sealed=sealed, foreign=replay.elsewhere)
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


def nearest(
    written: StepReader, step: int, back: bool, wanted: int, ask: Callable[[dict[str, int]], list[Found]]
) -> list[Found]:
    """What is asked of the steps from `first` on before `end`, up to this step or behind it: of as few of them as have
    all that is wanted, since what lies near is read in no time."""
    reach = NEAR_STEPS
    while True:
        first, end = (max(0, step + 1 - reach), step + 1) if back else (step + 1, step + 1 + reach)
        found = ask({"first": first, "end": end})
        if len(found) >= wanted or (first == 0 if back else end >= written.steps):
            return found
        reach *= FARTHER


def as_step(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(COLUMNS, row, strict=True))
