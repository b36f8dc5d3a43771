"""Attempts that were given the answers of the attempt before: how far that went, and what it guarantees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ingest.lake.readers import Lake
from replay.model import Manifest

RETRIES_SHOWN = 100
_SQL = """
SELECT task, attempt, epoch, records, why, more FROM events WHERE type = 'retry-ended'
ORDER BY coalesce(CAST(json_extract(more, '$.differing') AS BIGINT), 0) = 0, n LIMIT $limit
"""
_COUNT_SQL = "SELECT count(*) FROM events WHERE type = 'retry-ended'"
_GIVEN = "What is executed once more is given the answers that it was given, up to where the attempt before got."
_PESSIMISTIC = "Every answer was in the recording before the job had it, and before anything that follows from it left"
_SYNCED = "at an epoch's end it was on the disk for good, so that from there on it outlived a loss of power as well."
_UNSYNCED = "so it outlived a kill. It was not brought to the disk for good: a loss of power may have cost the last."
_ONCE = "With writes that count once by an id this is exactly once, as far as all that the job chose by is recorded."
_SOME = "Some of this recording's processes did not do so: for what those executed nothing of this holds."


@dataclass(frozen=True, slots=True)
class Retry:
    """`before` is the attempt whose answers were taken; `hashed` of the records were compared by their bytes."""

    task: str | None
    attempt: int | None
    epoch: int | None
    records: int
    why: str | None
    before: int | None
    answers: int
    hashed: int
    differing: int
    how: str


def job_retries(lake: Lake, *, job: str, limit: int = RETRIES_SHOWN) -> list[Retry]:
    """Those with outputs that differ first, then in the order in which they were told."""
    return [_retry(row) for row in lake.rows(_SQL, {"limit": limit}, job=job)]


def _retry(row: tuple[Any, ...]) -> Retry:
    task, attempt, epoch, records, why, text = row
    more = json.loads(text) if text else {}
    before, answers, hashed, differing = (
        _number(more.get(one)) for one in ("before", "answers", "hashed", "differing")
    )
    how = str(more.get("how") or "")
    return Retry(task, attempt, epoch, records or 0, why, before, answers or 0, hashed or 0, differing or 0, how)


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def count_retries(lake: Lake, *, job: str) -> int:
    return int(lake.rows(_COUNT_SQL, job=job)[0][0])


def guarantee(manifest: Manifest) -> list[str]:
    """What a recording with precise retries guarantees, in sentences; nothing of one without."""
    told = manifest.raw.get("retry")
    if not isinstance(told, dict) or told.get("mode") != "replay":
        return []
    durable = f"{_PESSIMISTIC}; {_SYNCED}" if told.get("sync") is True else f"{_PESSIMISTIC}, {_UNSYNCED}"
    return [_GIVEN, durable, _ONCE, *([] if told.get("always") is True else [_SOME])]
