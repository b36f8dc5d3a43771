"""The nearest step, forwards or backwards, that meets a condition."""

from __future__ import annotations

from typing import Any

from dashboard.queries.conditions import compiled
from dashboard.queries.steps import SELECT, as_step
from ingest.lake.step_reader import StepReader


def nearest(written: StepReader, *, after: int | None, before: int | None, where: str) -> dict[str, Any] | None:
    params: dict[str, Any] = {}
    condition = compiled(where, params)
    forwards = after is not None
    params["from"] = after if forwards else before
    sql = (
        f"{SELECT} WHERE step {'>' if forwards else '<'} $from AND {condition} "
        f"ORDER BY step {'' if forwards else 'DESC'} LIMIT 1"
    )
    rows = written.rows(sql, params)
    return as_step(rows[0]) if rows else None
