"""The logs that a task left: attempts, threads and epochs to choose from, and what each epoch holds by kind."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.queries.determinants import LogEpoch
from ingest.lake.readers import Lake

_CHOICES_SQL = """
SELECT attempt, thread, epoch, determinants, bytes FROM epochs WHERE task = $task
ORDER BY attempt, thread <> 'main', length(thread), thread, epoch
"""
_KINDS_SQL = """
SELECT kind, determinants, bytes FROM counts
WHERE task = $task AND attempt = $attempt AND thread = $thread AND epoch = $epoch ORDER BY bytes DESC, kind
"""
_LOGGING_SQL = "SELECT DISTINCT task FROM epochs WHERE determinants > 0"


@dataclass(frozen=True, slots=True)
class Choice:
    attempt: int
    thread: str
    epoch: int
    determinants: int
    bytes: int


def log_choices(lake: Lake, *, job: str, task: str) -> list[Choice]:
    return [Choice(*row) for row in lake.rows(_CHOICES_SQL, {"task": task}, job=job)]


def logging_tasks(lake: Lake, *, job: str) -> set[str]:
    """The tasks that left at least one determinant."""
    return {task for (task,) in lake.rows(_LOGGING_SQL, job=job)}


def kinds_of(lake: Lake, *, job: str, log: LogEpoch) -> list[tuple[str, int, int]]:
    """(kind, determinants, bytes), what costs most first."""
    params = {"task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch}
    rows = lake.rows(_KINDS_SQL, params, job=job)
    return [(kind, determinants, size) for kind, determinants, size in rows]
