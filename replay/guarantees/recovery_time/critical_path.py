"""The chain of waits that a group's recovery was as long as: backwards from the task that was done last.

While it replays, a task waits for the buffer that was not there yet when it was done with the one before; where a task
of the group rebuilt that buffer, the chain goes on there. Before that it is what events name as their causes (`re`):
the answer that was awaited last, the connection, the activation, the detection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.guarantees.recovery_time.lanes import CATCH_UP, Lane


class Wait(NamedTuple):
    """A stretch of the chain on one lane. `after`: the task of the group from which the chain came here, if one."""

    lane: int
    part: str
    from_us: int
    to_us: int
    after: str = ""


class _Stretch(NamedTuple):
    lane: Lane
    from_us: int
    to_us: int
    after: str = ""


def critical_path(source: RecordingSource, story: Story, group: Sequence[Lane]) -> list[Wait]:
    """In the order of time; empty where the recording does not say of any lane when it was done."""
    done = [(one.recovery.done_us, n) for n, one in enumerate(group) if one.recovery.done_us is not None]
    if not done:
        return []
    end_us, last = max(done)
    found: list[Wait] = []
    for stretch in _backwards(source, story, group, group[last], end_us):
        found += reversed(list(_in_parts(stretch, group)))
    return list(reversed(found))


def _backwards(
    source: RecordingSource, story: Story, group: Sequence[Lane], lane: Lane, at_us: int
) -> Iterator[_Stretch]:
    for hop in _replaying(source, group, lane, at_us):
        yield hop
        lane, at_us = hop.lane, hop.from_us
        if hop.after:
            lane = next(one for one in group if one.recovery.task == hop.after and _in_part(one, at_us, "replay"))
    yield from _by_causes(story, group, lane, at_us)


def _replaying(source: RecordingSource, group: Sequence[Lane], lane: Lane, at_us: int) -> Iterator[_Stretch]:
    """From its end to where the replay began that it waited for first of all."""
    while True:
        span = next((one for one in lane.spans if one.part == "replay" and one.from_us < at_us <= one.to_us), None)
        if span is None:
            return
        awaited = lane.arrivals.waited_for(span.from_us, at_us)
        sender = _sender(source, group, lane, awaited.input, awaited.received_us) if awaited else None
        if awaited is None or sender is None or awaited.received_us >= at_us:
            yield _Stretch(lane, span.from_us, at_us)
            return
        yield _Stretch(lane, awaited.received_us, at_us, sender.recovery.task)
        lane, at_us = sender, awaited.received_us


def _sender(source: RecordingSource, group: Sequence[Lane], lane: Lane, i: int, at_us: int) -> Lane | None:
    """Who rebuilt what came on an input, where that was still replaying then."""
    task = source.graph.channel(source.graph.task(lane.recovery.task).inputs[i]).source
    others = (one for one in group if one is not lane and one.recovery.task == task)
    return next((one for one in others if _in_part(one, at_us, "replay")), None)


def _in_part(lane: Lane, at_us: int, part: str) -> bool:
    return any(span.part == part and span.from_us < at_us <= span.to_us for span in lane.spans)


def _by_causes(story: Story, group: Sequence[Lane], lane: Lane, at_us: int) -> Iterator[_Stretch]:
    """From event to cause; what happens at a task that is not of the group is waited for by the one that asked."""
    event = story.by_number.get(lane.recovery.events[-1]) if lane.recovery.events else None
    while event is not None:
        there = _lane_at(group, event)
        t_us = _time(event, at_us)
        if there is not None and there is not lane:
            begun_us = max(t_us, min(lane.recovery.failed_us, at_us))  # before that it was not there to wait
            if begun_us < at_us:
                yield _Stretch(lane, begun_us, at_us, there.recovery.task)
            if t_us < begun_us:
                yield _Stretch(there, t_us, begun_us)
            lane, at_us = there, t_us
        event = _cause(story, event)
    one: Lane | None = lane
    while one is not None:
        if one.recovery.failed_us < at_us:
            yield _Stretch(one, one.recovery.failed_us, at_us)
        at_us = min(at_us, one.recovery.failed_us)
        one = _cut_short(group, one)


def _cut_short(group: Sequence[Lane], lane: Lane) -> Lane | None:
    """The recovery that the failure ended which this one began with."""
    before = (lane.recovery.task, lane.recovery.attempt - 1)
    found = (one for one in group if (one.recovery.task, one.recovery.attempt) == before)
    return next(found, None) if lane.rollback is None else None


def _lane_at(group: Sequence[Lane], event: Event) -> Lane | None:
    task, attempt = event.get("at", event.get("task")), event.get("attempt")
    if event.get("type") == "task-failed" and type(attempt) is int:
        attempt += 1
    return next((one for one in group if (one.recovery.task, one.recovery.attempt) == (task, attempt)), None)


def _time(event: Event, at_most_us: int) -> int:
    """Clocks of several hosts may go back."""
    t_us: Any = event.get("t_us")
    return min(t_us, at_most_us) if type(t_us) is int else at_most_us


def _cause(story: Story, event: Event) -> Event | None:
    """An earlier one: a recording that names causes in a circle is not followed round it."""
    number, cause = event.get("n"), event.get("re")
    return story.by_number.get(cause) if type(cause) is int and type(number) is int and cause < number else None


def _in_parts(stretch: _Stretch, group: Sequence[Lane]) -> Iterator[Wait]:
    n = next(n for n, one in enumerate(group) if one is stretch.lane)
    for span in stretch.lane.spans:
        from_us, to_us = max(span.from_us, stretch.from_us), min(span.to_us, stretch.to_us)
        if from_us < to_us and span.part != CATCH_UP:
            yield Wait(n, span.part, from_us, to_us, stretch.after if from_us == stretch.from_us else "")
