"""A recovery makes the log that it is given its own: held against the logs of the attempts before."""

from __future__ import annotations

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import first_difference
from replay.debugger.recorded.story import Story
from replay.model import TaskId, Thread


def check_adopted(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first log that does not begin as that of any attempt before it, as far as events
    say that it was returned, by answers that counted when it began to replay."""
    for task, attempt in sorted(story.starts):
        if task not in source.graph:
            continue
        for (thread, epoch), upto in story.returned_to(task, attempt).items():
            if thread in source.graph.task(task).threads:
                _check(source, TaskId(task), attempt, Thread(thread), epoch, upto)


def _check(source: RecordingSource, task: TaskId, attempt: int, thread: Thread, epoch: int, upto: int) -> None:
    member = member_name(task, attempt, thread, epoch)
    if member not in source.members:
        return
    own = source.log_bytes(task, attempt, thread, epoch)[:upto]
    before = [(one, source.log_bytes(task, one, thread, epoch)[: len(own)]) for one in range(attempt)]
    whole = [(first_difference(own, data), one) for one, data in before if len(data) == len(own)]
    if not whole or any(same == len(own) for same, _ in whole):
        return
    at, other = max(whole)
    raise DivergenceFound(
        f"{member} at offset {at}: attempt {attempt} of {task} was given {upto} bytes of this log of its task, and "
        f"what it has is not what attempt {other} logged ({member_name(task, other, thread, epoch)}), nor what any "
        f"other before it did.",
        member=member,
        offset=at,
        thread=thread,
        epoch=epoch,
        other_member=member_name(task, other, thread, epoch),
        other_offset=at,
    )
