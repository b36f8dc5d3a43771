"""Records that a job's own function took and gave around a step, as the steps of a replay of it tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.queries.steps import nearest
from ingest.lake.step_reader import StepReader

TAKEN, GIVEN = "deliver-record", "write-record"
BEFORE, AFTER = 4, 1

_AROUND_SQL = """
SELECT step, text FROM steps WHERE kind = $kind AND step >= $first AND step < $end ORDER BY step {order} LIMIT $limit
"""
_COUNT_SQL = "SELECT count(*), count(*) FILTER (step <= $step) FROM steps WHERE kind = $kind"


@dataclass(frozen=True, slots=True)
class Records:
    """The last ones up to a step, and the next: (step, sentence). `so_far` of `total` were taken, or given."""

    rows: list[tuple[int, str]]
    so_far: int
    total: int


def records_around(written: StepReader, step: int, kind: str) -> Records:
    total, so_far = written.rows(_COUNT_SQL, {"kind": kind, "step": step})[0]
    if not total:
        return Records([], 0, 0)
    earlier = _around(written, step, kind, back=True, limit=BEFORE + 1)[::-1]
    later = _around(written, step, kind, back=False, limit=AFTER)
    return Records([(at, text or "") for at, text in (*earlier, *later)], so_far, total)


def _around(written: StepReader, step: int, kind: str, *, back: bool, limit: int) -> list[tuple[Any, ...]]:
    sql = _AROUND_SQL.format(order="DESC" if back else "")
    more = {"kind": kind, "limit": limit}
    return nearest(written, step, back, limit, lambda asked: list(written.rows(sql, {**asked, **more})))
