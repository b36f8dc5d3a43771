"""By what a picture tells tasks apart: a number for each, of the measure that one chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.lanes import last_event_us
from ingest.lake.readers import Lake
from replay.model import WORLD, Graph

By = Literal["bytes", "determinants", "records", "latency", "waiting", "pressure", "held", "recovering"]
Values = dict[str, int]
# What the page comes with.
FIRST: By = "bytes"

_LOGGED_SQL = "SELECT task, sum(bytes)::HUGEINT, sum(determinants)::HUGEINT FROM counts GROUP BY task"
_METRICS_SQL = """
SELECT task, sum(records_in::HUGEINT), max(latency_p99_us) FILTER (records_in > 0) FROM metrics GROUP BY task
"""
_WAITS_SQL = """
SELECT channel, sum(taken_us::HUGEINT - received_us), count(*) FROM sendings
WHERE taken_us >= received_us GROUP BY channel
"""
_HELD_BACK_SQL = """
SELECT s.channel, sum(s.sent_us::HUGEINT - b.cut_us), count(*)
FROM sendings s JOIN buffers b USING (channel, attempt, seq)
WHERE s.sending = 0 AND s.sent_us >= b.cut_us GROUP BY s.channel
"""
# A copy grows from the start of an epoch's log on: the most that came of it is all there is.
_HELD_SQL = """
WITH copies AS (
    SELECT holder, max(upto) AS upto FROM holders WHERE task = $task AND holder <> $world
    GROUP BY holder, attempt, thread, epoch
)
SELECT holder, sum(upto)::HUGEINT FROM copies GROUP BY holder
"""


@dataclass(frozen=True, slots=True)
class Measure:
    """`says` what the number is; `unit` is bytes, us or nothing, of what is counted."""

    says: str
    unit: str
    of: Callable[[_Asked], Values]


@dataclass(frozen=True, slots=True)
class _Asked:
    lake: Lake
    job: str
    graph: Graph
    task: str

    def rows(self, sql: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return self.lake.rows(sql, params, job=self.job)


def task_measures(lake: Lake, *, job: str, graph: Graph, by: By, task: str = "") -> Values:
    """By task; those of which the recording does not tell are left out. `task` is the one whose log is held."""
    found = MEASURES[by].of(_Asked(lake, job, graph, task))
    return {one: value for one, value in found.items() if one in graph}


def _column(sql: str, place: int) -> Callable[[_Asked], Values]:
    return lambda asked: {row[0]: int(row[place]) for row in asked.rows(sql) if row[place] is not None}


def _waits(asked: _Asked) -> Values:
    """The mean over all buffers that a task took: long where it can't keep up with who sends."""
    return _means(asked, _WAITS_SQL, {channel.id: channel.target for channel in asked.graph.channels})


def _pressure(asked: _Asked) -> Values:
    """The mean over all buffers that a task sent: long where those can't keep up to whom it sends."""
    return _means(asked, _HELD_BACK_SQL, {channel.id: channel.source for channel in asked.graph.channels})


def _means(asked: _Asked, sql: str, tasks: Mapping[str, str]) -> Values:
    total: dict[str, tuple[int, int]] = {}
    for channel, waited_us, count in asked.rows(sql):
        if channel in tasks:
            before_us, before = total.get(tasks[channel], (0, 0))
            total[tasks[channel]] = before_us + waited_us, before + count
    return {task: waited_us // count for task, (waited_us, count) in total.items()}


def _held(asked: _Asked) -> Values:
    return dict(asked.rows(_HELD_SQL, {"task": asked.task, "world": str(WORLD)}))


def _recovering(asked: _Asked) -> Values:
    return time_down(job_failures(asked.lake, job=asked.job), last_event_us(asked.lake, job=asked.job))


def time_down(failures: list[Failure], end_us: int) -> Values:
    """From each failure until its task ran again, another failure or a rollback came, or the recording ended."""
    found: Values = {}
    for one in failures:
        if one.failed_us is not None:
            until_us = end_us if one.ended_us is None else one.ended_us
            found[one.task] = found.get(one.task, 0) + max(0, until_us - one.failed_us)
    return found


MEASURES: dict[By, Measure] = {
    "bytes": Measure("bytes logged", "bytes", _column(_LOGGED_SQL, 1)),
    "determinants": Measure("determinants", "", _column(_LOGGED_SQL, 2)),
    "records": Measure("records taken", "", _column(_METRICS_SQL, 1)),
    "latency": Measure("latency, the worst p99", "us", _column(_METRICS_SQL, 2)),
    "waiting": Measure("wait of buffers at inputs, mean", "us", _waits),
    "pressure": Measure("back-pressure: wait of buffers at outputs, mean", "us", _pressure),
    "held": Measure("held of its log", "bytes", _held),
    "recovering": Measure("time failed and recovering", "us", _recovering),
}
