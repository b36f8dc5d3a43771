"""What passes through hidden tasks: for what was sent into them, the first that came out of them after it.

A hidden task may give what it took to any of its outputs from then on: each output's next buffer stands for it. Where
that leads to another hidden task, it is followed on from when that task took it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.queries.spacetime.lanes import Lanes
from dashboard.queries.spacetime.marks import MOST_MARKS, Window
from ingest.lake.readers import Lake, PublishedJob

_INTO_SQL = """
WITH inputs AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($lanes::BIGINT[]) AS lane,
                       unnest($tasks::VARCHAR[]) AS task)
SELECT i.lane, coalesce(s.sent_us, s.received_us, s.taken_us), i.task, s.receiver_attempt, s.taken_us
FROM sendings s JOIN inputs i ON s.channel = i.channel
WHERE s.taken_us >= $from_us AND coalesce(s.sent_us, s.received_us, s.taken_us) <= $to_us LIMIT $limit
"""
_OUT_SQL = """
WITH passed AS (
    SELECT unnest($rows::BIGINT[]) AS place, unnest($channels::VARCHAR[]) AS channel,
           unnest($attempts::BIGINT[]) AS attempt, unnest($t_us::BIGINT[]) AS t_us
), own AS (
    SELECT channel, attempt, cut_us, min(seq) AS seq FROM buffers
    WHERE channel IN (SELECT channel FROM passed) GROUP BY channel, attempt, cut_us
),
following AS (
    SELECT p.place, b.channel, b.attempt, b.seq FROM passed p
    ASOF JOIN own b ON p.channel = b.channel AND p.attempt = b.attempt AND p.t_us <= b.cut_us
)
SELECT f.place, f.channel, s.receiver_attempt, min(s.taken_us) FROM following f
JOIN sendings s ON s.channel = f.channel AND s.attempt = f.attempt AND s.seq = f.seq
WHERE s.taken_us IS NOT NULL GROUP BY f.place, f.channel, s.receiver_attempt
"""


@dataclass(frozen=True, slots=True)
class _Passing:
    """Sent from a lane, and now in a hidden task's attempt since it took it."""

    lane: int
    sent_us: int
    task: str
    attempt: int
    t_us: int


def through(lake: Lake, lanes: Lanes, *, job: str, window: Window) -> tuple[list[list[int]], bool]:
    """(lane, sent, lane, taken) of each way, the latest that was sent for what came out; and whether all are told."""
    graph, place, hidden = lanes.graph, lanes.of_tasks(), set(lanes.hidden)
    entries = [(c.id, place[c.source], c.target) for c in graph.channels if c.source in place and c.target in hidden]
    if not entries:
        return [], True
    channels, own, tasks = (list(one) for one in zip(*entries, strict=True))
    asked = {"channels": channels, "lanes": own, "tasks": tasks, "from_us": window.from_us, "to_us": window.to_us}
    published = lake.job(job)
    rows = published.rows(_INTO_SQL, {**asked, "limit": MOST_MARKS + 1})
    if len(rows) > MOST_MARKS:
        return [], False
    waiting = {_Passing(*row) for row in rows}
    ways: dict[tuple[int, int, int], int] = {}
    for task in (one for one in graph.order if one in hidden):
        here = [one for one in waiting if one.task == task]
        waiting.difference_update(here)
        for passing, channel, attempt, taken_us in _out(published, lanes, task, here):
            target = graph.channel(channel).target
            if target in hidden:
                waiting.add(_Passing(passing.lane, passing.sent_us, target, attempt, taken_us))
            else:
                way = passing.lane, place[target], taken_us
                ways[way] = max(passing.sent_us, ways.get(way, passing.sent_us))
        waiting = _latest(waiting)
    found = sorted([source, sent_us, target, taken_us] for (source, target, taken_us), sent_us in ways.items())
    return found[:MOST_MARKS], len(found) <= MOST_MARKS


def _latest(waiting: set[_Passing]) -> set[_Passing]:
    """Of what one lane sent and a task took at one moment the last is enough: the others came out no earlier."""
    kept: dict[tuple[int, str, int, int], _Passing] = {}
    for one in waiting:
        key = one.lane, one.task, one.attempt, one.t_us
        if key not in kept or kept[key].sent_us < one.sent_us:
            kept[key] = one
    return set(kept.values())


def _out(job: PublishedJob, lanes: Lanes, task: str, here: list[_Passing]) -> list[tuple[_Passing, str, int, int]]:
    outputs = [one.channel for one in lanes.graph.task(task).outputs]
    if not here or not outputs:
        return []
    rows: list[tuple[Any, ...]] = [
        (n, channel, one.attempt, one.t_us) for n, one in enumerate(here) for channel in outputs
    ]
    places, channels, attempts, times = (list(one) for one in zip(*rows, strict=True))
    asked = {"rows": places, "channels": channels, "attempts": attempts, "t_us": times}
    return [(here[n], channel, attempt, t_us) for n, channel, attempt, t_us in job.rows(_OUT_SQL, asked)]
