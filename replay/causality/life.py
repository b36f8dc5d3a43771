"""When an attempt of a task began and how it ended, as the events tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ENDED_WITH_RECORDING = "end of the recording"
SUSPECTED = "suspected"
"""The cause of a failure that was none: the attempt was only taken for failed."""

ORPHAN = "orphan"
"""How the cause of a failure begins where the attempt was given up: it followed from choices that nobody has."""


@dataclass(frozen=True, slots=True)
class Life:
    """One attempt. `ended_us` is the recording's end where nothing else ended it.

    One that `lingers` was suspected and ran on for a while, fenced: what it did after its end counts for nobody.
    """

    task: str
    attempt: int
    started_us: int
    ended_us: int
    ended_by: str
    failure: int | None = None
    lingers: bool = False

    def is_over_by(self, t_us: int) -> bool:
        """Whether it did nothing at that time any more. Of what ran to the end, the last event need not be the last
        thing that happened."""
        return t_us > self.ended_us and not self.lingers and self.ended_by != ENDED_WITH_RECORDING


def lives(events: Iterable[Mapping[str, Any]]) -> dict[str, list[Life]]:
    """Every attempt of every task, by task and attempt."""
    started: dict[tuple[str, int], int] = {}
    failed: dict[tuple[str, int], tuple[int, int | None, bool]] = {}
    end_us = 0
    for event in events:
        t_us = _int(event.get("t_us"))
        end_us = max(end_us, t_us)
        kind, task, attempt = event.get("type"), event.get("task"), event.get("attempt")
        if not isinstance(task, str) or type(attempt) is not int:
            continue
        if kind == "attempt-started":
            started.setdefault((task, attempt), t_us)
        elif kind == "task-failed":
            failed.setdefault((task, attempt), (t_us, event.get("failure"), event.get("cause") == SUSPECTED))
    return _by_task(started, failed, end_us)


def _by_task(
    started: dict[tuple[str, int], int], failed: dict[tuple[str, int], tuple[int, int | None, bool]], end_us: int
) -> dict[str, list[Life]]:
    found: dict[str, list[Life]] = {}
    for task, attempt in sorted({*started, *failed}):
        begin_us = started.get((task, attempt), 0)
        if (task, attempt) in failed:
            ended_us, failure, lingers = failed[task, attempt]
            life = Life(task, attempt, begin_us, ended_us, "failure", failure, lingers)
        elif (task, attempt + 1) in started:
            # Without a failure of its own, an attempt is ended by a rollback just before the next one begins.
            life = Life(task, attempt, begin_us, started[task, attempt + 1], "rollback")
        else:
            life = Life(task, attempt, begin_us, end_us, ENDED_WITH_RECORDING)
        found.setdefault(task, []).append(life)
    return found


def life_of(found: Mapping[str, list[Life]], task: str, attempt: int) -> Life | None:
    """One attempt's life, if the events tell of it."""
    return next((life for life in found.get(task, ()) if life.attempt == attempt), None)


def attempt_at(found: Mapping[str, list[Life]], task: str, t_us: int) -> int:
    """The attempt that a task was in at a time; 0 where the events do not say."""
    return max((life.attempt for life in found.get(task, ()) if life.started_us <= t_us), default=0)


def _int(value: object) -> int:
    return value if type(value) is int else 0
