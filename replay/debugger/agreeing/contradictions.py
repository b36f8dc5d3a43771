"""Looks through a recording for the first thing that contradicts the others, nothing being executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from replay.debugger.agreeing.alignment import check_alignment
from replay.debugger.agreeing.answered import check_answered, check_answers
from replay.debugger.agreeing.calls import check_calls
from replay.debugger.agreeing.connections import check_connections
from replay.debugger.agreeing.contents import check_records, check_states
from replay.debugger.agreeing.ended import check_ended
from replay.debugger.agreeing.evidence import check_output
from replay.debugger.agreeing.history import check_history
from replay.debugger.agreeing.ignored import check_ignored
from replay.debugger.agreeing.left_outside import check_left_outside
from replay.debugger.agreeing.lines import check_epochs, check_offsets
from replay.debugger.agreeing.nothing_to_replay import check_nothing_to_replay
from replay.debugger.agreeing.notices import check_let_go, check_notices
from replay.debugger.agreeing.orders import check_orders
from replay.debugger.agreeing.readings import check_readings
from replay.debugger.agreeing.receipts import LogEnds, check_receipts, check_takes
from replay.debugger.agreeing.received import check_received
from replay.debugger.agreeing.relays import check_relays
from replay.debugger.agreeing.restores import check_restores
from replay.debugger.agreeing.settings import check_settings
from replay.debugger.agreeing.snapshots import check_snapshots
from replay.debugger.agreeing.struck import check_struck
from replay.debugger.agreeing.transactions import check_aborted, check_flushed, check_transactions
from replay.debugger.agreeing.writes import check_writes
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import CorruptMember
from replay.model import TaskId

_Check = Callable[[RecordingSource, Story], None]


def _alone(check: Callable[[RecordingSource], None]) -> _Check:
    """One that reads the events itself, each as it comes."""
    return lambda source, _: check(source)


_OF_EVENTS: tuple[_Check, ...] = (
    *map(_alone, (check_history, check_connections, check_restores, check_notices)),
    check_nothing_to_replay, check_answered, check_answers, check_relays,
    _alone(check_struck),
)  # fmt: skip
"""What events say of one another."""

OF_ALL: tuple[_Check, ...] = (
    _alone(check_settings),
    *_OF_EVENTS,
    *map(_alone, (
        check_received, check_epochs, check_writes, check_states, check_snapshots, check_transactions,
        check_aborted, check_ended, check_flushed, check_left_outside, check_ignored,
    )),
    check_let_go,
    *map(_alone, (check_alignment, check_records)),
)  # fmt: skip
"""What manifest, events, lines and snapshots say of one another. Each raises `DivergenceFound`."""


def check_attempt(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> None:
    """Raises `DivergenceFound` where what an attempt cut, sent or received contradicts the rest."""
    shape = source.graph.task(task)
    check_orders(source, task, attempt)
    ends = LogEnds(source, task, attempt)
    for i in range(len(shape.inputs)):
        check_receipts(source, story, ends, i)
    check_takes(source, task, attempt)
    check_readings(source, story, task, attempt)
    check_calls(source, task, attempt)
    for k in range(len(shape.outputs)):
        check_output(source, story, task, attempt, k)


def first_contradiction(source: RecordingSource, story: Story, tasks: Iterable[TaskId]) -> DivergenceFound | None:
    """From the sources down: what is damaged shows first where it stands, and then in what was made of it."""
    chosen = set(tasks)
    for task in (one for one in source.graph.order if one in chosen):
        try:
            if not source.graph.task(task).inputs:
                check_offsets(source, task)
            for attempt in source.attempts(task):
                check_attempt(source, story, task, attempt)
        except DivergenceFound as found:
            return found
        except CorruptMember:
            continue
    return None


def told_by_events(source: RecordingSource, story: Story, found: DivergenceFound) -> DivergenceFound:
    """Where events contradict one another they are what is damaged, and not a member that they don't fit."""
    if found.detail.get("member") == "events.ndjson":
        return found
    for check in _OF_EVENTS:
        try:
            check(source, story)
        except DivergenceFound as earlier:
            return earlier
        except (Missing, CorruptMember):
            continue
    return found


def contradiction_anywhere(source: RecordingSource, story: Story) -> DivergenceFound | None:
    """The first one between any parts of the recording."""
    for check in OF_ALL:
        try:
            check(source, story)
        except DivergenceFound as found:
            return found
        except (Missing, CorruptMember):
            continue
    return first_contradiction(source, story, source.graph.order)
