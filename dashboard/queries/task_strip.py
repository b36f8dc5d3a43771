"""The strip of a replay of several tasks: a lane for each, and one for all those that there is no room for."""

from __future__ import annotations

from typing import Any

from dashboard.queries.kinds import step_kind
from dashboard.queries.of_task import TaskLane
from dashboard.queries.replay_overview import ENTERED_SQL, part_of
from ingest.lake.step_reader import StepReader

LANES_SHOWN = 16
MARKS_SHOWN = 2_000
GOOD = ("", "identical", "free")

_BINS_SQL = """
SELECT ((step - $first) * $bins) // $span AS bin, CASE WHEN list_contains($shown, task) THEN task END AS lane, kind,
       count(*), min(step)
FROM steps WHERE step >= $first AND step < $first + $span GROUP BY ALL ORDER BY bin, lane NULLS LAST, kind
"""
_MARKS_SQL = f"""
WITH entered AS ({ENTERED_SQL})
SELECT step, kind, state, CASE WHEN list_contains($shown, task) THEN task END FROM entered
WHERE step >= $first AND step < $first + $span ORDER BY kind, step LIMIT $limit
"""


def shown_lanes(lanes: list[TaskLane]) -> list[str]:
    """As many as there is room for, in their order: those that did not come out as recorded before all others."""
    if len(lanes) <= LANES_SHOWN:
        return [lane.task for lane in lanes]
    first = sorted(lanes, key=lambda lane: lane.verdict in GOOD)[: LANES_SHOWN - 1]
    chosen = {lane.task for lane in first}
    return [lane.task for lane in lanes if lane.task in chosen]


def task_strip(written: StepReader, lanes: list[TaskLane], first: int = 0, end: int | None = None) -> dict[str, Any]:
    """As `strip`, but each bin says whose steps it counts, by the lane's number, and which is their first."""
    shown = shown_lanes(lanes)
    number: dict[str | None, int] = {task: place for place, task in enumerate(shown)}
    part = part_of(written, first, end)
    asked = {"first": part.first, "span": part.span, "shown": shown}
    rows = written.rows(_BINS_SQL, {**asked, "bins": part.bins})
    marks = written.rows(_MARKS_SQL, {**asked, "limit": MARKS_SHOWN})
    return {
        **part.to_json(),
        "lanes": [{"task": task} for task in shown] + [{"more": more} for more in [len(lanes) - len(shown)] if more],
        "bins": [
            {"bin": bin_, "lane": number.get(task, len(shown)), "kind": kind, "group": step_kind(kind).colour}
            | {"steps": steps, "first": its_first}
            for bin_, task, kind, steps, its_first in rows
        ],
        "marks": [
            {"step": step, "kind": kind, "state": state, "lane": number.get(task, len(shown))}
            for step, kind, state, task in marks
        ],
    }
