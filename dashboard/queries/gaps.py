"""Where the recorder had to leave something out: what stands behind is not at the place where it stood."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.queries.determinants import Determinant, LogEpoch
from ingest.lake.readers import Lake

GAPS_SHOWN = 100
_COLUMNS = "task, attempt, coalesce(thread, 'main'), epoch, \"offset\", why, t_us"
_SQL = f"SELECT {_COLUMNS} FROM events WHERE type = 'gap' ORDER BY n LIMIT $limit"
_COUNT_SQL = "SELECT count(*) FROM events WHERE type = 'gap'"
_LOG_SQL = f"""
SELECT {_COLUMNS} FROM events WHERE type = 'gap' AND task = $task AND attempt = $attempt AND epoch = $epoch
AND coalesce(thread, 'main') = $thread ORDER BY "offset" NULLS FIRST, n LIMIT $limit
"""


_ATTEMPT_SQL = f"""
SELECT {_COLUMNS}, count(*) OVER () FROM events WHERE type = 'gap' AND task = $task AND attempt = $attempt
ORDER BY n LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class Gap:
    task: str | None
    attempt: int | None
    thread: str
    epoch: int | None
    offset: int | None
    why: str | None
    t_us: int


def job_gaps(lake: Lake, *, job: str, limit: int = GAPS_SHOWN) -> list[Gap]:
    """The first ones, in the order in which they were told."""
    return [Gap(*row) for row in lake.rows(_SQL, {"limit": limit}, job=job)]


def count_gaps(lake: Lake, *, job: str) -> int:
    return int(lake.rows(_COUNT_SQL, job=job)[0][0])


def gaps_of_log(lake: Lake, *, job: str, log: LogEpoch, limit: int = GAPS_SHOWN) -> list[Gap]:
    """Of one epoch of a log, by place."""
    named = {"task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch, "limit": limit}
    return [Gap(*row) for row in lake.rows(_LOG_SQL, named, job=job)]


def gaps_of_attempt(lake: Lake, *, job: str, task: str, attempt: int, limit: int = 3) -> tuple[list[Gap], int]:
    """The first ones of all its logs, and how many there are."""
    rows = lake.rows(_ATTEMPT_SQL, {"task": task, "attempt": attempt, "limit": limit}, job=job)
    return [Gap(*row[:-1]) for row in rows], rows[0][-1] if rows else 0


def placed(
    gaps: list[Gap], rows: list[Determinant], *, first: bool, last: bool
) -> tuple[dict[int, list[Gap]], list[Gap]]:
    """Those that stand before a row of a page, by its number, and those behind the last one.

    `first` and `last`: the page begins, or ends, with its epoch.
    """
    before: dict[int, list[Gap]] = {}
    behind: list[Gap] = []
    for gap in gaps:
        offset = gap.offset or 0
        following = next((row for row in rows if row.offset >= offset), None)
        if following is None:
            behind += [gap] if last else []
        elif first or following is not rows[0] or following.offset == offset:
            before.setdefault(following.seq, []).append(gap)
    return before, behind
