"""Throughput and latency at the sinks over time, from the metrics that tasks gave at their own pace."""

from __future__ import annotations

from typing import Any

from ingest.lake.readers import Lake
from replay.model import Manifest

POINTS = 240

# A metric speaks of the time since that task's last one: its rate holds over that whole interval. A point adds up
# the tasks whose interval covers it. A recording may name any 64-bit time: differences and products need more.
_SQL = """
WITH intervals AS (
    SELECT task, coalesce(lag(t_us) OVER (PARTITION BY task ORDER BY n), 0)::HUGEINT AS begin_us,
           t_us::HUGEINT AS end_us, records_in, latency_p99_us
    FROM metrics WHERE task IN (SELECT unnest($tasks))
), points AS (SELECT ((2 * range + 1) * $duration_us::HUGEINT) // (2 * $points) AS at_us FROM range($points))
SELECT at_us, sum(records_in * 1e6 / (end_us - begin_us)), max(latency_p99_us) FILTER (records_in > 0)
FROM points JOIN intervals ON begin_us <= at_us AND at_us < end_us AND end_us > begin_us
GROUP BY at_us ORDER BY at_us
"""


def sinks_of(manifest: Manifest) -> list[str]:
    kinds = {vertex.id: vertex.kind for vertex in manifest.vertices}
    return [str(task.id) for task in manifest.tasks if kinds.get(task.vertex) == "sink"]


def sink_curves(lake: Lake, *, job: str, sinks: list[str], duration_us: int) -> list[dict[str, Any]]:
    """A curve of fewer than two points would say nothing and is left out."""
    if not sinks or not duration_us:
        return []
    params = {"tasks": sinks, "duration_us": duration_us, "points": POINTS}
    rows = lake.rows(_SQL, params, job=job)
    curves = [
        {
            "name": "throughput at the sinks",
            "unit": "records/s",
            "points": [{"tUs": t_us, "value": rate} for t_us, rate, _ in rows if rate is not None],
        },
        {
            "name": "latency at the sinks, p99",
            "unit": "us",
            "points": [{"tUs": t_us, "value": p99} for t_us, _, p99 in rows if p99 is not None],
        },
    ]
    return [curve for curve in curves if len(curve["points"]) > 1]
