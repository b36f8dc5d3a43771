"""The checkpoints of a job: how long each took, whom it waited for, and what each task spent on one."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.queries.failures import between
from dashboard.queries.spacetime.fronts import fronts_of
from ingest.lake.readers import Lake

CHECKPOINTS_LISTED = 500
TASKS_LISTED = 500

# The last to acknowledge is whom it waited for, if all did.
_LIST_SQL = """
SELECT checkpoint, min(triggered_us), min(completed_us), min(aborted_us),
       sum(bytes::HUGEINT) FILTER (acknowledged_us IS NOT NULL), count(acknowledged_us), count(ignored_us),
       max(acknowledged_us), arg_max(task, acknowledged_us)
FROM checkpoints GROUP BY checkpoint
HAVING coalesce(min(triggered_us), min(completed_us), min(aborted_us), max(acknowledged_us)) IS NOT NULL
ORDER BY checkpoint LIMIT $limit
"""
_BYTES_SQL = """
SELECT task, attempt, bytes, ignored_us FROM checkpoints
WHERE checkpoint = $checkpoint AND task IS NOT NULL ORDER BY task, attempt LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    checkpoint: int
    triggered_us: int | None
    completed_us: int | None
    aborted_us: int | None
    bytes: int | None
    acknowledged: int
    ignored: int
    last_us: int | None
    last_task: str | None

    @property
    def took_us(self) -> int | None:
        return between(self.triggered_us, self.completed_us)

    @property
    def last_after_us(self) -> int | None:
        return between(self.triggered_us, self.last_us)


@dataclass(frozen=True, slots=True)
class Share:
    """What one task spent: `aligned_us` from the first barrier to the last, `stored_us` from there to the snapshot."""

    task: str
    attempt: int | None
    bytes: int | None
    ignored_us: int | None
    first_us: int | None = None
    aligned_us: int | None = None
    stored_us: int | None = None
    acknowledged_us: int | None = None


def checkpoints(lake: Lake, *, job: str) -> list[Checkpoint]:
    """The first ones, in their order."""
    return [Checkpoint(*row) for row in lake.rows(_LIST_SQL, {"limit": CHECKPOINTS_LISTED}, job=job)]


def shares(lake: Lake, *, job: str, checkpoint: int, inputs: dict[str, str]) -> list[Share]:
    """Of every task that took part in this one or was told to ignore it. `inputs`: task by channel. A source has no
    barriers to wait for: of it the whole time is not told."""
    barriers = {
        (one["task"], one["attempt"]): one for one in fronts_of(lake, job=job, inputs=inputs, checkpoint=checkpoint)
    }
    rows = lake.rows(_BYTES_SQL, {"checkpoint": checkpoint, "limit": TASKS_LISTED}, job=job)
    found = []
    for task, attempt, size, ignored_us in rows:
        at = barriers.get((task, attempt), {})
        first_us, last_us, acknowledged_us = (at.get(name) for name in ("first_us", "last_us", "acknowledged_us"))
        aligned, stored = between(first_us, last_us), between(last_us, acknowledged_us)
        found.append(Share(task, attempt, size, ignored_us, first_us, aligned, stored, acknowledged_us))
    return found
