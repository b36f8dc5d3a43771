"""Looks through the members of some tasks for the first that contradicts the others, nothing being executed."""

from __future__ import annotations

from collections.abc import Iterable

from replay.debugger.agreeing.evidence import check_output
from replay.debugger.agreeing.lines import check_offsets
from replay.debugger.agreeing.receipts import check_receipts
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import CorruptMember
from replay.model import TaskId


def check_attempt(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> None:
    """Raises `DivergenceFound` where what an attempt cut, sent or received contradicts the rest."""
    shape = source.graph.task(task)
    for i in range(len(shape.inputs)):
        check_receipts(source, story, task, attempt, i)
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
