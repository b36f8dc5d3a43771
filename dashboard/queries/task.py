"""One task: its attempts, and the epochs of its logs."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.queries.failures import Failure
from ingest.lake.readers import Lake

EPOCHS_SHOWN = 200

_ATTEMPTS_SQL = """
SELECT attempt, t_us, standby, host, checkpoint, rollback FROM events
WHERE type = 'attempt-started' AND task = $task ORDER BY attempt, n
"""
_LOGGED_SQL = """
SELECT attempt, sum(determinants)::BIGINT, sum(bytes)::BIGINT FROM epochs WHERE task = $task GROUP BY attempt
"""
_EPOCHS_SQL = """
SELECT attempt, thread, epoch, determinants, bytes, start_us, end_us FROM epochs
WHERE task = $task ORDER BY attempt, thread <> 'main', length(thread), thread, epoch LIMIT $limit
"""
_EPOCH_COUNT_SQL = "SELECT count(*) FROM epochs WHERE task = $task"


@dataclass(frozen=True, slots=True)
class Attempt:
    attempt: int
    started_us: int | None
    standby: bool | None
    host: str | None
    checkpoint: int | None
    determinants: int
    bytes: int
    failure: Failure | None
    rolled_back_us: int | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    attempt: int
    thread: str
    epoch: int
    determinants: int
    bytes: int
    start_us: int | None
    end_us: int | None


def task_attempts(lake: Lake, *, job: str, task: str, failures: list[Failure]) -> list[Attempt]:
    """Attempts that began or logged anything, with the failure that ended each."""
    logged = {attempt: (n, size) for attempt, n, size in lake.rows(_LOGGED_SQL, {"task": task}, job=job)}
    began = {row[0]: row[1:] for row in lake.rows(_ATTEMPTS_SQL, {"task": task}, job=job) if row[0] is not None}
    ends = {failure.attempt: failure for failure in failures if failure.task == task}
    found = []
    for n in sorted(began.keys() | logged.keys() | {0}):
        started_us, standby, host, checkpoint = began.get(n, (None, None, None, None, None))[:4]
        determinants, size_bytes = logged.get(n, (0, 0))
        # The attempt that a rollback began ended the one before it.
        _, _, _, _, rollback = began.get(n + 1, (None, None, None, None, None))
        rolled_back_us = began[n + 1][0] if rollback is not None else None
        found.append(
            Attempt(n, started_us, standby, host, checkpoint, determinants, size_bytes, ends.get(n), rolled_back_us)
        )
    return found


def task_epochs(lake: Lake, *, job: str, task: str, limit: int = EPOCHS_SHOWN) -> tuple[list[Epoch], int]:
    """The first of them, and how many there are."""
    rows = lake.rows(_EPOCHS_SQL, {"task": task, "limit": limit}, job=job)
    total = lake.rows(_EPOCH_COUNT_SQL, {"task": task}, job=job)[0][0]
    return [Epoch(*row) for row in rows], total
