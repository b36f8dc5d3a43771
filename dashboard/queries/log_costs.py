"""Where the bytes of logs go: by operator over the whole job, and by the line of source that asked, in one log."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.queries.determinants import LogEpoch
from dashboard.queries.sites import site_lines
from ingest.lake.readers import PublishedJob

SITES_SHOWN = 12
_TASKS_SQL = "SELECT task, sum(determinants)::BIGINT, sum(bytes)::BIGINT FROM counts GROUP BY task"
# A call's payload is a head of seven bytes and JSON, as `replay.log` writes it; what is none has no site.
_SITES_SQL = """
WITH calls AS (
    SELECT length, try(json_extract(decode(unhex(substr(hex(payload), 15))), '$.site')) AS asked
    FROM {source}
    WHERE task = $task AND attempt = $attempt AND thread = $thread AND epoch = $epoch
      AND kind = 'serializable' AND starts_with(hex(payload), '434C03')
)
SELECT try_cast(asked AS BIGINT) AS site, count(*), sum(length)::BIGINT AS bytes
FROM calls WHERE site IS NOT NULL GROUP BY site ORDER BY bytes DESC, site
"""


@dataclass(frozen=True, slots=True)
class Cost:
    of: str
    determinants: int
    bytes: int


def by_task(job: PublishedJob) -> list[Cost]:
    return [Cost(*row) for row in job.rows(_TASKS_SQL)]


def by_vertex(job: PublishedJob, vertices: dict[str, str]) -> list[Cost]:
    """What costs most first. `vertices`: of each task, its vertex."""
    summed: dict[str, tuple[int, int]] = {}
    for one in by_task(job):
        vertex = vertices.get(one.of, one.of)
        determinants, size = summed.get(vertex, (0, 0))
        summed[vertex] = determinants + one.determinants, size + one.bytes
    costs = [Cost(vertex, *sums) for vertex, sums in summed.items()]
    return sorted(costs, key=lambda cost: (-cost.bytes, cost.of))


def by_site(job: PublishedJob, log: LogEpoch) -> list[Cost]:
    """Of one log's epoch, the lines that cost most; those behind them are summed up in a last row."""
    source = job.log_source(log.task, log.attempt, log.thread, log.epoch)
    params = {"task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch}
    rows = job.rows(_SITES_SQL.format(source=source), params)
    lines = site_lines(job, task=log.task, attempt=log.attempt, sites=[site for site, _, _ in rows[:SITES_SHOWN]])
    costs = [Cost(lines.get(site, f"site {site}"), many, size) for site, many, size in rows[:SITES_SHOWN]]
    rest = rows[SITES_SHOWN:]
    if rest:
        many, size = sum(row[1] for row in rest), sum(row[2] for row in rest)
        costs.append(Cost(f"{len(rest):,} further lines", many, size))
    return costs
