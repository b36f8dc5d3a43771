"""The recovery log as a replay takes it: the determinants around a step, and where the cursor stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.queries.recorded import rows_of
from dashboard.queries.steps import nearest
from ingest.lake.step_reader import StepReader

BEFORE = 4
AFTER = 5

# A determinant is read once, whatever thread reads it; other steps may name it as their cause, too.
# Most stand near by: only where too few do is it looked farther.
_AROUND_SQL = """
SELECT step, actor, kind, log, log_offset, text FROM steps
WHERE kind IN ('take-determinant', 'fire-async') AND step >= $first AND step < $end ORDER BY step {order} LIMIT $limit
"""
# Numbers alone are put in order, however many there are; what they say is read of those that are shown.
_WINDOW_SQL = """
SELECT step, actor, kind, log, log_offset, text FROM steps WHERE step IN (
    SELECT step FROM steps WHERE kind IN ('take-determinant', 'fire-async') ORDER BY step LIMIT $limit OFFSET $first
) ORDER BY step
"""
_CURSOR_SQL = """
SELECT max(step) FROM steps WHERE kind IN ('take-determinant', 'fire-async') AND step <= $step
"""
_CAUSES_SQL = """
SELECT step, min(cause) FROM causes WHERE step IN (SELECT unnest($steps)) AND starts_with(cause, 'det:') GROUP BY step
"""
_TOTAL_SQL = """
SELECT count(*), count(*) FILTER (step <= $step) FROM steps WHERE kind IN ('take-determinant', 'fire-async')
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A determinant that was taken at a step; `row` is it in the lake, where it is there."""

    step: int
    actor: str
    log: str | None
    log_offset: int | None
    text: str
    ref: str | None
    row: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RecoveryLog:
    taken: list[Taken]
    cursor: int | None
    total: int
    so_far: int
    first: int = 0


def recovery_log(written: StepReader, job_id: str, step: int) -> RecoveryLog:
    """Some before the cursor, some ahead; the cursor is the last one taken at or before the step."""
    shown = BEFORE + 1 + AFTER
    earlier = _around(written, True, step, shown)[::-1]
    later = _around(written, False, step, shown - min(BEFORE + 1, len(earlier)))
    earlier = earlier[-(shown - min(AFTER, len(later))) :]
    later = later[: shown - len(earlier)]
    total, so_far = written.rows(_TOTAL_SQL, {"step": step})[0]
    taken = _with_rows(written, job_id, [*earlier, *later])
    return RecoveryLog(taken, earlier[-1][0] if earlier else None, total, so_far, so_far - len(earlier))


def log_window(written: StepReader, job_id: str, step: int, first: int, count: int) -> RecoveryLog:
    """Those from the `first` one on, wherever the cursor stands."""
    rows = list(written.rows(_WINDOW_SQL, {"first": first, "limit": count}))
    cursor = written.rows(_CURSOR_SQL, {"step": step})[0][0]
    return RecoveryLog(_with_rows(written, job_id, rows), cursor, 0, 0, first)


def _around(written: StepReader, back: bool, step: int, limit: int) -> list[tuple[Any, ...]]:
    sql = _AROUND_SQL.format(order="DESC" if back else "")
    return nearest(written, step, back, limit, lambda asked: list(written.rows(sql, {**asked, "limit": limit})))


def _with_rows(written: StepReader, job_id: str, rows: list[tuple[Any, ...]]) -> list[Taken]:
    if not rows:
        return []
    refs: dict[int, str] = dict(written.rows(_CAUSES_SQL, {"steps": [row[0] for row in rows]}))
    named = list(dict.fromkeys(refs.values()))
    found = {one["ref"]: one["row"] for one in rows_of(job_id, named)}
    return [
        Taken(step, actor or "", log, offset, text or "", refs.get(step), found.get(refs.get(step, "")))
        for step, actor, _, log, offset, text in rows
    ]
