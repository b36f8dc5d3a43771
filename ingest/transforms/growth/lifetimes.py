"""When attempts began and when everything was rolled back, as the events tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.transforms.growth.places import Names


@dataclass(slots=True)
class Lifetimes:
    """Of every task the attempts with their starts, and the times of rollbacks."""

    starts: dict[str, dict[int, int]] = field(default_factory=dict)
    rollbacks: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[tuple[Any, ...]]) -> Lifetimes:
        """From (type, t_us, task, attempt); an attempt of which only the failure is told began at 0."""
        found = cls()
        failed: set[tuple[str, int]] = set()
        for kind, t_us, task, attempt in events:
            if kind == "global-rollback":
                found.rollbacks.append(t_us)
            elif task is not None and attempt is not None:
                if kind == "attempt-started":
                    found.starts.setdefault(task, {}).setdefault(attempt, t_us)
                elif kind == "task-failed":
                    failed.add((task, attempt))
        for task, attempt in failed:
            found.starts.setdefault(task, {}).setdefault(attempt, 0)
        return found

    def arrays(self, names: Names) -> tuple[Any, Any, Any]:
        """Where each task's attempts begin, their starts, their numbers."""
        begin, starts, numbers = [0], list[int](), list[int]()
        for task in names.tasks:
            for attempt, started_us in sorted(self.starts.get(task, {}).items()):
                starts.append(started_us)
                numbers.append(attempt)
            begin.append(len(starts))
        return tuple(np.array(one, dtype=np.int64) for one in (begin, starts, numbers))  # type: ignore[return-value]


KINDS = ("attempt-started", "task-failed", "global-rollback")
"""The events that tell of it."""
