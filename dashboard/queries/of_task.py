"""The steps of one task where several were replayed together: its panels tell of it alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dashboard.models import Replay
from ingest.lake.engine import Params, Row
from ingest.lake.step_reader import LIMITS, StateEntry, StepReader

_OF_TASK = """
WITH steps AS (SELECT * FROM main.steps WHERE task = $of_task),
     buffers AS (SELECT * FROM main.buffers WHERE task = $of_task),
     state_changes AS (SELECT * FROM main.state_changes WHERE task = $of_task)
"""
_TASKS_SQL = "SELECT task, min(step), max(step), count(*) FROM steps GROUP BY task ORDER BY min(step)"
_OPEN_SQL = """
SELECT o.step, o.before, s.task FROM open_orders o JOIN steps s ON s.step = o.before
WHERE o.step >= $first AND o.step < $end
"""


@dataclass(frozen=True, slots=True)
class TaskLane:
    """One of the tasks of a replay; without a verdict until it has come to one."""

    task: str
    first_step: int
    last_step: int
    steps: int
    verdict: str = ""

    @property
    def next(self) -> str:
        """Words that lead to its next step."""
        return quote(f'next task = "{self.task}"')

    @property
    def previous(self) -> str:
        return quote(f'previous task = "{self.task}"')


@dataclass(frozen=True, slots=True)
class OpenOrder:
    step: int
    before: int
    task: str


class TaskReader(StepReader):
    """Answers as the reader of one task's replay by itself would; steps keep their numbers."""

    def __init__(self, reader: StepReader, task: str) -> None:
        self._folder = reader._folder
        self._task = task

    def rows(self, sql: str, params: Params | None = None, *, timeout_s: float = LIMITS.timeout_s) -> list[Row]:
        own = sql.strip()
        joined = f"{_OF_TASK}, {own[5:]}" if own.startswith("WITH ") else _OF_TASK + own
        return super().rows(joined, {**(params or {}), "of_task": self._task}, timeout_s=timeout_s)

    def state(
        self, step: int, *, prefix: str = "", after: tuple[str, str] | None = None, limit: int = 200
    ) -> list[StateEntry]:
        whole, found = StepReader.__new__(StepReader), list[StateEntry]()
        whole._folder = self._folder
        while len(found) < limit:
            page = whole.state(step, prefix=prefix, after=after, limit=limit)
            found += [entry for entry in page if entry.task == self._task]
            if len(page) < limit:
                break
            after = page[-1].key, page[-1].task
        return found[:limit]


def of_task(replay: Replay, written: StepReader, task: str | None) -> StepReader:
    """Narrowed down to a task where the replay may be of several."""
    return TaskReader(written, task) if task and not replay.task else written


def lanes(replay: Replay, written: StepReader) -> list[TaskLane]:
    """The tasks of a replay of several, by their first step; none for a replay of one."""
    if replay.task:
        return []
    verdicts = {str(one.get("task")): str(one.get("verdict", "")) for one in replay.tasks}
    rows = written.rows(_TASKS_SQL)
    found = [TaskLane(task, first, last, steps, verdicts.get(task, "")) for task, first, last, steps in rows]
    return found if len(found) > 1 else []


def open_orders(written: StepReader, first: int, end: int) -> dict[int, OpenOrder]:
    """By step, of these: before which other step it may have come for all that is recorded."""
    rows: list[tuple[Any, ...]] = written.rows(_OPEN_SQL, {"first": first, "end": end})
    return {row[0]: OpenOrder(*row) for row in rows}
