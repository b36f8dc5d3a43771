"""Checkpoints that tasks let go, as events tell of them: that it did, and when, is a choice that its log holds."""

from __future__ import annotations

from collections.abc import Iterator

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.errors import CorruptDeterminant
from replay.log.codec import decode_all
from replay.log.determinants import IgnoreCheckpoint
from replay.model import MAIN, TaskId


def check_ignored(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first checkpoint let go of which the task's log, being there, doesn't tell."""
    if source.manifest.clock.kind != "virtual" or not source.manifest.protocol.logs:
        return
    for event in source.events():
        task, attempt, checkpoint = TaskId(str(event.get("task"))), event.get("attempt"), event.get("checkpoint")
        if event.get("type") != "checkpoint-ignored" or task not in source.graph:
            continue
        if not isinstance(attempt, int) or not isinstance(checkpoint, int):
            continue
        epochs = [one for one in source.epochs(task, attempt, MAIN) if one < checkpoint]
        if not epochs or not _whole(source, task, attempt):
            continue  # what the recording lacks says nothing
        try:
            told = checkpoint in set(_let_go(source, task, attempt, epochs))
        except CorruptDeterminant:
            continue  # found out where that log is looked at
        if not told:
            _differs(source, event.get("n"), task, attempt, checkpoint, epochs[-1])


def _whole(source: RecordingSource, task: TaskId, attempt: int) -> bool:
    """Whether its main log is there for every epoch of which anything is."""
    shape, logged = source.graph.task(task), set(source.epochs(task, attempt, MAIN))
    folders = [*shape.threads, "sink", "world", "source", *(f"received-{i}" for i in range(len(shape.inputs)))]
    return all(logged.issuperset(source.epochs(task, attempt, one)) for one in folders)


def _let_go(source: RecordingSource, task: TaskId, attempt: int, epochs: list[int]) -> Iterator[int]:
    for epoch in epochs:
        for _, _, one in decode_all(source.log_bytes(task, attempt, MAIN, epoch)):
            if isinstance(one, IgnoreCheckpoint):
                yield one.checkpoint


def _differs(source: RecordingSource, number: object, task: TaskId, attempt: int, checkpoint: int, epoch: int) -> None:
    member = member_name(task, attempt, MAIN, epoch)
    raise DivergenceFound(
        f"Event {number}: checkpoint-ignored says that attempt {attempt} of {task} let checkpoint {checkpoint} go, but "
        f"its log up to {member} has no such choice.",
        member=member,
        offset=source.members.size(member),
        event=number,
        checkpoint=checkpoint,
    )
