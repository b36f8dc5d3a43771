"""A job's timeline: epochs, checkpoints, failures, the attempts of failed tasks with their recovery, and its curves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dashboard.queries.curves import curves_of
from dashboard.queries.failures import ROLLBACKS_SQL, Failure
from dashboard.queries.lanes import last_event_us, state_lanes
from ingest.lake.readers import Lake
from replay.model import Manifest

LANES_SHOWN = 6

_EPOCHS_SQL = """
SELECT epoch, min(start_us), max(end_us), sum(determinants)::BIGINT, sum(bytes)::BIGINT
FROM epochs WHERE thread = 'main' GROUP BY epoch ORDER BY epoch
"""
_CHECKPOINTS_SQL = """
SELECT checkpoint, min(triggered_us), max(completed_us), max(aborted_us), count(ignored_us)
FROM checkpoints GROUP BY checkpoint ORDER BY checkpoint
"""
# Never more of them than there are pixels: those of one log that lie close together are one mark.
_GAPS_SQL = """
SELECT task, attempt, coalesce(thread, 'main'), epoch, min(t_us), count(*) FROM events
WHERE type = 'gap' AND task IS NOT NULL AND attempt IS NOT NULL
GROUP BY task, attempt, coalesce(thread, 'main'), epoch, t_us * 400 // $duration_us ORDER BY min(n) LIMIT 400
"""


def timeline(lake: Lake, *, job: str, manifest: Manifest, failures: list[Failure]) -> dict[str, Any]:
    """For the picture; the tables behind it are on the page already."""
    span_us = last_event_us(lake, job=job)
    epochs = lake.rows(_EPOCHS_SQL, job=job)
    duration_us = max([span_us, *(end for _, _, end, _, _ in epochs if end)], default=0)
    tasks = list(dict.fromkeys(failure.task for failure in failures))
    return {
        "durationUs": duration_us,
        "epochs": _bands(epochs, duration_us),
        "checkpoints": [
            {"checkpoint": n, "triggeredUs": began, "completedUs": done, "abortedUs": aborted, "ignoredBy": ignored}
            for n, began, done, aborted, ignored in lake.rows(_CHECKPOINTS_SQL, job=job)
            if began is not None or done is not None
        ],
        "failures": [
            {
                "failure": f.failure,
                "task": f.task,
                "failedUs": f.failed_us,
                "suspected": f.suspected,
                "runningUs": f.running_us,
                "endUs": f.ended_us,
                "endedBy": f.outcome,
            }
            for f in failures
            if f.failed_us is not None
        ],
        "rollbacks": [
            {"tUs": t_us, "checkpoint": checkpoint} for t_us, checkpoint in lake.rows(ROLLBACKS_SQL, job=job)
        ],
        "lanes": state_lanes(lake, job, tasks[:LANES_SHOWN], duration_us, observed=manifest.protocol.observed),
        "gaps": [
            {"task": task, "attempt": attempt, "thread": thread, "epoch": epoch, "tUs": t_us, "count": count}
            for task, attempt, thread, epoch, t_us, count in lake.rows(
                _GAPS_SQL, {"duration_us": max(1, duration_us)}, job=job
            )
        ],
        "lanesHidden": max(0, len(tasks) - LANES_SHOWN),
        "curves": curves_of(lake, job=job, manifest=manifest, of="", duration_us=duration_us),
    }


def _bands(epochs: list[tuple[Any, ...]], duration_us: int) -> list[dict[str, Any]]:
    """In the order in which they began; a band ends where the next begins, so that none overlaps another.

    Numbers need not follow time: consumers number an epoch by its first offset, each partition for itself.
    """
    epochs = sorted(_with_starts(epochs), key=lambda one: (one[1], one[0]))
    starts = [start for _, start, _, _, _ in epochs]
    ends = [*starts[1:], *([duration_us] if starts else [])]
    return [
        {"epoch": epoch, "startUs": start, "endUs": max(start, end), "determinants": determinants, "bytes": size}
        for (epoch, _, _, determinants, size), start, end in zip(epochs, starts, ends, strict=True)
    ]


def _with_starts(epochs: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """One of which nobody told when it began stands behind the one before it."""
    before = 0
    for epoch, start, end, *more in epochs:
        known = before if start is None else start
        before = known if end is None else max(known, end)
        yield (epoch, known, end, *more)
