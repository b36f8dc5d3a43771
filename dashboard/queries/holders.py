"""Who held how much of an epoch of a log at a moment, from the table that ingest derived."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.queries.determinants import LogEpoch
from ingest.lake.readers import Lake
from replay.model import WORLD

MOST_HOLDERS = 1000

# An attempt that began by then took the place of those before it, and of what they held. A copy of what another attempt
# of the task wrote is another copy.
_SQL = """
WITH began AS (
    SELECT task AS holder, max(attempt) AS latest FROM events
    WHERE type = 'attempt-started' AND t_us <= $t_us AND task IS NOT NULL GROUP BY task
), held AS (
    SELECT holder, holder_attempt, max(upto) AS upto, max(t_us) AS since_us FROM holders
    WHERE task = $task AND attempt = $attempt AND thread = $thread AND epoch = $epoch AND t_us <= $t_us
    GROUP BY holder, holder_attempt
)
SELECT holder, holder_attempt, upto, since_us, holder = $world OR holder_attempt >= coalesce(latest, 0) AS there
FROM held LEFT JOIN began USING (holder) ORDER BY there DESC, upto DESC, holder, holder_attempt LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """`upto` bytes from the start of the epoch, the last of which came at `since_us`. `there`: it had not been
    replaced by a later attempt of its task."""

    holder: str
    holder_attempt: int
    upto: int
    since_us: int
    there: bool


def holders_at(lake: Lake, *, job: str, log: LogEpoch, t_us: int) -> list[Holder]:
    """The ones that were there first, then who held the most."""
    params = {"task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch}
    rows = lake.rows(_SQL, {**params, "t_us": t_us, "world": str(WORLD), "limit": MOST_HOLDERS}, job=job)
    return [Holder(*row) for row in rows]
