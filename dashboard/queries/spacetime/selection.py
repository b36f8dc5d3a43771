"""What is selected in the diagram, by its name in the address, and where its causes and effects begin.

`buffer:<channel>/<attempt>#<seq>` is a buffer, `buffers:<channel>/<attempt>#<first>-<last>` a run of them,
`failure:<n>` a failure and `moment:<task>/<attempt>@<us>` a place on a lane.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.spacetime.cone import NEVER_US, NO_EPOCH, Attempt, Since
from ingest.lake.readers import Lake
from replay.model import Channel, Graph

MOST_NAME = 1_000
_BUFFERS = re.compile(r"buffers?:(?P<channel>.+)/(?P<attempt>\d{1,9})#(?P<first>\d{1,18})(-(?P<last>\d{1,18}))?", re.S)
_FAILURE = re.compile(r"failure:(?P<number>\d{1,9})")
_MOMENT = re.compile(r"moment:(?P<task>.+)/(?P<attempt>\d{1,9})@(?P<t_us>\d{1,18})", re.S)

_CUT_SQL = """
SELECT min(cut_us), max(cut_us), min(epoch), max(epoch), sum(bytes)::BIGINT, sum(records)::BIGINT, count(*),
       bool_or(flags & 1 = 1), bool_or(flags & 2 = 2)
FROM buffers WHERE channel = $channel AND attempt = $attempt AND seq BETWEEN $first AND $last
"""
_SENDINGS_SQL = """
SELECT seq, sending, receiver_attempt, sent_us, received_us, taken_us, taken_epoch, flags & 1 = 1
FROM sendings WHERE channel = $channel AND attempt = $attempt AND seq BETWEEN $first AND $last
ORDER BY seq, sending, receiver_attempt LIMIT $limit
"""
_TAKEN_SQL = """
SELECT receiver_attempt, min(taken_us), min(taken_epoch) FROM sendings
WHERE channel = $channel AND attempt = $attempt AND seq BETWEEN $first AND $last AND taken_us IS NOT NULL
GROUP BY receiver_attempt
"""
_EPOCH_AT_SQL = """
SELECT max(epoch) FROM epochs WHERE task = $task AND attempt = $attempt AND thread = 'main' AND start_us <= $t_us
"""
# The take before the cut that came last, and the first buffer that its receiver cut after taking it.
_CAUSE_SQL = """
SELECT channel, attempt, seq FROM sendings
WHERE channel IN (SELECT unnest($channels::VARCHAR[])) AND receiver_attempt = $attempt AND taken_us <= $t_us
ORDER BY taken_us DESC, channel, seq DESC LIMIT 1
"""
_EFFECT_SQL = """
SELECT channel, attempt, seq FROM buffers
WHERE channel IN (SELECT unnest($channels::VARCHAR[])) AND attempt = $attempt AND cut_us >= $t_us
ORDER BY cut_us, channel, seq LIMIT 1
"""
SENDINGS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Buffers:
    """One buffer, or a run of them."""

    channel: Channel
    attempt: int
    first: int
    last: int


@dataclass(slots=True)
class Selected:
    """`kind`: buffer, failure, moment. `cut`, `sendings`: of buffers, as the tables say. `missing`: unknown."""

    name: str
    kind: str
    task: str
    attempt: int
    t_us: int | None = None
    buffers: Buffers | None = None
    failure: Failure | None = None
    cut: dict[str, Any] = field(default_factory=dict)
    sendings: list[dict[str, Any]] = field(default_factory=list)
    missing: str = ""
    upto: dict[Attempt, int] = field(default_factory=dict)
    since: dict[Attempt, Since] = field(default_factory=dict)


def selected(lake: Lake, graph: Graph, *, job: str, name: str) -> Selected | None:
    """None where the name names nothing of this recording."""
    name = name[:MOST_NAME]
    if found := _BUFFERS.fullmatch(name):
        return _buffers(lake, graph, job, name, found)
    if found := _FAILURE.fullmatch(name):
        return _failure(lake, graph, job, name, int(found["number"]))
    if found := _MOMENT.fullmatch(name):
        return _moment(lake, graph, job, name, found)
    return None


def _buffers(lake: Lake, graph: Graph, job: str, name: str, found: re.Match[str]) -> Selected | None:
    channel = next((one for one in graph.channels if one.id == found["channel"]), None)
    if channel is None:
        return None
    first = int(found["first"])
    last = max(first, int(found["last"] or first))
    those = Buffers(channel, int(found["attempt"]), first, last)
    asked = {"channel": channel.id, "attempt": those.attempt, "first": first, "last": last}
    one = Selected(name, "buffer", channel.source, those.attempt, buffers=those)
    names = ("from_us", "to_us", "epoch", "last_epoch", "bytes", "records", "count", "event", "held_back")
    one.cut = dict(zip(names, lake.rows(_CUT_SQL, asked, job=job)[0], strict=True))
    rows = lake.rows(_SENDINGS_SQL, {**asked, "limit": SENDINGS_SHOWN + 1}, job=job)
    fields = ("seq", "sending", "receiver_attempt", "sent_us", "received_us", "taken_us", "taken_epoch", "resent")
    one.sendings = [dict(zip(fields, row, strict=True)) for row in rows]
    if not one.cut["count"] and not rows:
        return None
    one.t_us = one.cut["to_us"]
    if one.t_us is None:
        one.missing = "The recording holds its receipts and not its cut, so nobody knows what came before it."
    else:
        one.upto[channel.source, those.attempt] = one.t_us
    for attempt, t_us, epoch in lake.rows(_TAKEN_SQL, asked, job=job):
        one.since[channel.target, attempt] = Since(t_us, epoch)
    return one


def _failure(lake: Lake, graph: Graph, job: str, name: str, number: int) -> Selected | None:
    failure = next((one for one in job_failures(lake, job=job) if one.failure == number), None)
    if failure is None or failure.task not in graph:
        return None
    one = Selected(name, "failure", failure.task, failure.attempt or 0, failure.failed_us, failure=failure)
    if failure.attempt is None or failure.failed_us is None:
        one.missing = "The recording does not say which attempt failed when, so nobody knows what came before it."
        return one
    one.upto[failure.task, failure.attempt] = failure.failed_us
    following = failure.attempt + 1 if failure.next_attempt is None else failure.next_attempt
    if failure.ended_us is not None or failure.started_us is not None:
        one.since[failure.task, following] = Since(NEVER_US, NO_EPOCH)
    return one


def _moment(lake: Lake, graph: Graph, job: str, name: str, found: re.Match[str]) -> Selected | None:
    task, attempt, t_us = found["task"], int(found["attempt"]), int(found["t_us"])
    if task not in graph:
        return None
    epoch = lake.rows(_EPOCH_AT_SQL, {"task": task, "attempt": attempt, "t_us": t_us}, job=job)[0][0]
    one = Selected(name, "moment", task, attempt, t_us)
    one.upto[task, attempt] = t_us
    one.since[task, attempt] = Since(t_us, NO_EPOCH if epoch is None else epoch)
    return one


def cause_before(lake: Lake, graph: Graph, *, job: str, one: Selected) -> str:
    """The name of the buffer that was taken last before it; empty where none was."""
    if one.t_us is None:
        return ""
    asked = {"channels": list(graph.task(one.task).inputs), "attempt": one.attempt, "t_us": one.t_us}
    return _named(lake.rows(_CAUSE_SQL, asked, job=job))


def effect_after(lake: Lake, graph: Graph, *, job: str, one: Selected) -> str:
    """The name of the first buffer that was cut after it; empty where none was."""
    for (task, attempt), since in sorted(one.since.items(), key=lambda item: item[1].t_us):
        channels = [output.channel for output in graph.task(task).outputs]
        found = _named(lake.rows(_EFFECT_SQL, {"channels": channels, "attempt": attempt, "t_us": since.t_us}, job=job))
        if found:
            return found
    return ""


def _named(rows: list[tuple[Any, ...]]) -> str:
    return "".join(f"buffer:{channel}/{attempt}#{seq}" for channel, attempt, seq in rows)
