"""The steps of one task where several were replayed together: its panels tell of it alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dashboard.models import Replay
from dashboard.queries.graph import job_graph
from dashboard.queries.written_once import once_written
from ingest.lake.engine import Params, Row
from ingest.lake.step_reader import LIMITS, StateEntry, StepReader
from replay.debugger.searching.tokens import quoted

_OF_TASK = """
WITH steps AS (SELECT * FROM main.steps WHERE task = $of_task),
     buffers AS (SELECT * FROM main.buffers WHERE task = $of_task),
     state_changes AS (SELECT * FROM main.state_changes WHERE task = $of_task)
"""
_TASKS_SQL = "SELECT task, min(step), max(step), count(*) FROM steps GROUP BY task ORDER BY min(step)"
_STATES_SQL = """
SELECT task, max_by(state, step) FROM steps WHERE step <= $step AND state IS NOT NULL GROUP BY task
"""
_RANK_SQL = "SELECT count(*) FROM steps WHERE task = $task AND step <= $step"
# Numbers alone are put in order, however many there are; what they say is read of those that are shown.
_WINDOW_SQL = """
SELECT * FROM steps WHERE step IN (SELECT step FROM steps WHERE task = $task ORDER BY step LIMIT $limit OFFSET $first)
ORDER BY step
"""
_OPEN_SQL = """
SELECT o.step, o.before, s.task FROM open_orders o JOIN steps s ON s.step = o.before
WHERE o.step >= $first AND o.step < $end
"""


@dataclass(frozen=True, slots=True)
class TaskLane:
    """One of the tasks of a replay, and its state after a step; without a verdict until it has come to one."""

    task: str
    first_step: int
    last_step: int
    steps: int
    verdict: str = ""
    state: str = ""

    @property
    def words(self) -> str:
        """The search for its steps."""
        return f"task = {quoted(self.task)}"

    @property
    def next(self) -> str:
        """Words that lead to its next step, as they stand in an address."""
        return quote(f"next {self.words}")

    @property
    def previous(self) -> str:
        return quote(f"previous {self.words}")


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

    @property
    def content(self) -> tuple[object, ...]:
        return *super().content, self._task

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


def lanes(replay: Replay, written: StepReader, step: int = 0) -> list[TaskLane]:
    """The tasks of a replay of several, in the job's order; none for a replay of one."""
    if replay.task:
        return []
    rows = once_written(written, "tasks", lambda: written.rows(_TASKS_SQL))
    if len(rows) < 2:
        return []
    verdicts = {str(one.get("task")): str(one.get("verdict", "")) for one in replay.tasks}
    states: dict[str, str] = dict(written.rows(_STATES_SQL, {"step": step}))
    graph = job_graph(replay.job_id)
    place: dict[str, int] = {task.id: number for number, task in enumerate(graph.manifest.tasks)} if graph else {}
    found = [
        TaskLane(task, first, last, steps, verdicts.get(task, ""), states.get(task, ""))
        for task, first, last, steps in rows
    ]
    return sorted(found, key=lambda lane: place.get(lane.task, len(place)))


def window(written: StepReader, task: str, first: int, count: int) -> list[dict[str, Any]]:
    """Steps of a task from its `first` one on, whatever stands between them."""
    names, rows = written.columns_and_rows(_WINDOW_SQL, {"task": task, "first": first, "limit": count})
    return [dict(zip(names, row, strict=True)) for row in rows]


def around(written: StepReader, lane: TaskLane, step: int, count: int) -> tuple[int, list[dict[str, Any]]]:
    """As many steps of a task as there is room for around a step, maybe another's; first the place of the first."""
    upto: int = written.rows(_RANK_SQL, {"task": lane.task, "step": step})[0][0]
    first = max(0, min(upto - 1 - count // 2, lane.steps - count))
    return first, window(written, lane.task, first, count)


def open_orders(written: StepReader, first: int, end: int) -> dict[int, OpenOrder]:
    """By step, of these: before which other step it may have come for all that is recorded."""
    rows: list[tuple[Any, ...]] = written.rows(_OPEN_SQL, {"first": first, "end": end})
    return {row[0]: OpenOrder(*row) for row in rows}
