"""What tasks were doing from when to when: running, down, and every state of their recoveries."""

from __future__ import annotations

from typing import Any

from ingest.lake.readers import Lake

_LAST_EVENT_SQL = "SELECT coalesce(max(t_us), 0) FROM events"
_STATES_SQL = """
SELECT task, "to", t_us, n FROM events WHERE type = 'recovery-state' AND task IN (SELECT unnest($tasks)) ORDER BY n
"""
_STARTS_SQL = """
SELECT task, attempt, t_us, n, attempt = 0 OR rollback IS NOT NULL FROM events
WHERE type = 'attempt-started' AND task IN (SELECT unnest($tasks)) ORDER BY n
"""
_FAILED_SQL = """
SELECT task, attempt, t_us, n, coalesce(cause, '') = 'suspected' FROM events
WHERE type = 'task-failed' AND task IN (SELECT unnest($tasks)) ORDER BY n
"""


def last_event_us(lake: Lake, *, job: str) -> int:
    """Until when anything was told; 0 where nothing was."""
    return int(lake.rows(_LAST_EVENT_SQL, job=job)[0][0])


def state_lanes(lake: Lake, job: str, tasks: list[str], duration_us: int, *, observed: bool) -> list[dict[str, Any]]:
    """Of each of these tasks, in their order."""
    if not tasks:
        return []
    starts, states, failed = (
        _by_task(lake.rows(sql, {"tasks": tasks}, job=job)) for sql in (_STARTS_SQL, _STATES_SQL, _FAILED_SQL)
    )
    return [
        {
            "task": task,
            "spans": spans_of(
                [(*row[:-1], row[-1] or observed) for row in starts.get(task, ())],
                states.get(task, []),
                failed.get(task, []),
                duration_us,
            ),
        }
        for task in tasks
    ]


def _by_task(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for task, *row in rows:
        found.setdefault(task, []).append(tuple(row))
    return found


def spans_of(
    starts: list[tuple[Any, ...]], states: list[tuple[Any, ...]], failed: list[tuple[Any, ...]], duration_us: int
) -> list[dict[str, Any]]:
    """What a task was doing from when to when: running, down, and every state of a recovery, in the events' order.

    The first attempt runs at once, and so does one that a rollback began: neither has anything to recover. Those of an
    engine that was only observed recover in no states that anybody recorded.
    """
    marks = [(t_us, n, state, None) for state, t_us, n in states]
    marks += [(t_us, n, "Suspected" if suspected else "Failed", None) for _, t_us, n, suspected in failed]
    marks += [(t_us, n, "Running" if at_once else "Standby", attempt) for attempt, t_us, n, at_once in starts]
    marks.sort(key=lambda mark: mark[:2])
    spans: list[dict[str, Any]] = []
    attempt: int | None = None
    for place, (t_us, _, state, begun) in enumerate(marks):
        attempt = attempt if begun is None else begun
        end_us = marks[place + 1][0] if place + 1 < len(marks) else duration_us
        if end_us > t_us:
            spans.append({"state": state, "attempt": attempt, "startUs": t_us, "endUs": end_us})
    return spans
