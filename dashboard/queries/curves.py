"""Throughput and latency over time, from the metrics that tasks gave at their own pace."""

from __future__ import annotations

from typing import Any

from ingest.lake.engine import Row
from ingest.lake.readers import Lake
from replay.model import Manifest

POINTS = 240

# A metric speaks of the time since that task's last one: its rate holds over that whole interval. A point adds up
# the tasks whose interval covers it. A recording may name any 64-bit time: differences and products need more.
_SQL = """
WITH intervals AS (
    SELECT task, coalesce(lag(t_us) OVER (PARTITION BY task ORDER BY n), 0)::HUGEINT AS begin_us,
           t_us::HUGEINT AS end_us, records_in, latency_p50_us, latency_p99_us
    FROM metrics WHERE task IN (SELECT unnest($tasks))
), points AS (SELECT ((2 * range + 1) * $duration_us::HUGEINT) // (2 * $points) AS at_us FROM range($points))
SELECT at_us, sum(records_in * 1e6 / (end_us - begin_us)),
       max(latency_p50_us) FILTER (records_in > 0), max(latency_p99_us) FILTER (records_in > 0)
FROM points JOIN intervals ON begin_us <= at_us AND at_us < end_us AND end_us > begin_us
GROUP BY at_us ORDER BY at_us
"""


def tasks_of(manifest: Manifest, of: str) -> list[str]:
    """The tasks that `of` names: a vertex's, or the one task; all sinks' where it is empty."""
    kinds = {vertex.id: vertex.kind for vertex in manifest.vertices}
    return [
        str(task.id)
        for task in manifest.tasks
        if (of in (task.vertex, task.id) if of else kinds.get(task.vertex) == "sink")
    ]


def curves_of(lake: Lake, *, job: str, manifest: Manifest, of: str, duration_us: int) -> list[dict[str, Any]]:
    """A curve of fewer than two points would say nothing and is left out. Latencies are the worst of the tasks'."""
    tasks = tasks_of(manifest, of)
    if not tasks or not duration_us:
        return []
    rows = lake.rows(_SQL, {"tasks": tasks, "duration_us": duration_us, "points": POINTS}, job=job)
    where = f"of {of}" if of else "at the sinks"
    found: list[dict[str, Any]] = [
        {"name": f"throughput {where}", "unit": "records/s", "points": _points(rows, 1)},
        {"name": f"latency {where}, p99", "unit": "us", "points": _points(rows, 3), "p50": _points(rows, 2)},
    ]
    return [curve for curve in found if len(curve["points"]) > 1]


def _points(rows: list[Row], column: int) -> list[dict[str, Any]]:
    return [{"tUs": row[0], "value": row[column]} for row in rows if row[column] is not None]
