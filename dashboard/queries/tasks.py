"""What every task logged: per task and kind, from the roll-up written at ingest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dashboard.queries.kinds import DETERMINANTS
from ingest.lake.readers import Lake

_COUNTS_SQL = """
SELECT task, kind, sum(determinants)::BIGINT, sum(bytes)::BIGINT FROM counts GROUP BY ALL ORDER BY ALL
"""
_ATTEMPTS_SQL = """
SELECT task, max(attempt)::HUGEINT + 1, arg_max(host, attempt) FROM events
WHERE type = 'attempt-started' AND attempt IS NOT NULL GROUP BY task
"""
_KIND_ORDER = {kind.name: place for place, kind in enumerate(DETERMINANTS)}


@dataclass(frozen=True, slots=True)
class KindCount:
    kind: str
    determinants: int
    bytes: int


@dataclass(slots=True)
class TaskSummary:
    task: str
    vertex: str
    attempts: int = 1
    host: str | None = None
    failures: int = 0
    kinds: list[KindCount] = field(default_factory=list)

    @property
    def determinants(self) -> int:
        return sum(one.determinants for one in self.kinds)

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.kinds)

    def for_script(self) -> dict[str, Any]:
        return {
            "id": self.task,
            "determinants": self.determinants,
            "bytes": self.bytes,
            "attempts": self.attempts,
            "failures": self.failures,
        }


def task_summaries(lake: Lake, *, job: str, tasks: Iterable[tuple[str, str]], failed: list[str]) -> list[TaskSummary]:
    """One for each (task, vertex) of the manifest, in its order, also where nothing was logged."""
    began = {task: (attempts, host) for task, attempts, host in lake.rows(_ATTEMPTS_SQL, job=job)}
    found = {task: TaskSummary(task, vertex, *began.get(task, (1, None))) for task, vertex in tasks}
    for task in failed:
        if task in found:
            found[task].failures += 1
    for task, kind, determinants, size_bytes in lake.rows(_COUNTS_SQL, job=job):
        if task in found:
            found[task].kinds.append(KindCount(kind, determinants, size_bytes))
    for summary in found.values():
        summary.kinds.sort(key=lambda one: _KIND_ORDER.get(one.kind, len(_KIND_ORDER)))
    return list(found.values())
