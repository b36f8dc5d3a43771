"""What is replayed: which attempt of which task, from which checkpoint, and whose work it continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replay.bundle.members import member_name
from replay.causality.life import life_of
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.together.connected import recovered_together
from replay.errors import ReplayError, printable
from replay.jobs.registry import new_operator
from replay.model import TaskId, Thread, Vertex
from replay.runtime.operators import Operator

Operators = Callable[[Vertex], Operator]


@dataclass(frozen=True, slots=True)
class Scene:
    """`failure` None: an attempt is executed again from its own log. `before`: the attempts that it continues.

    `in_storage`: the holder that is no task is a stable storage, and not the world outside. `operators` makes those
    that are executed.
    """

    task: TaskId
    attempt: int
    checkpoint: int
    failure: int | None = None
    before: tuple[int, ...] = ()
    in_storage: bool = False
    operators: Operators = new_operator


def scenes_of(
    source: RecordingSource, story: Story, *, task: str | None, failure: int | None, attempt: int | None
) -> list[Scene]:
    """From what was asked for; the first failure where nothing was. The scene of that failure comes first.

    Without a task those that are recovered from together with it follow, and of a task that failed on the way only
    the attempts that came to something.
    """
    chosen = choose(source, story, task=task, failure=failure, attempt=attempt)
    if task is not None or chosen.failure is None:
        return [chosen]
    found = {(chosen.task, chosen.attempt): chosen}
    for number in recovered_together(story, source.graph, chosen.failure):
        scene = choose(source, story, task=None, failure=number, attempt=None)
        found.setdefault((scene.task, scene.attempt), scene)
    return list(found.values())


def choose(
    source: RecordingSource, story: Story, *, task: str | None, failure: int | None, attempt: int | None
) -> Scene:
    """Of one task; the first failure where nothing was asked for."""
    if task is not None and task not in source.graph:
        raise ReplayError(
            f"the recording has no task {printable(task)}", remedy="Its tasks are those that job.json lists"
        )
    if attempt is not None:
        return _of_attempt(source, story, task, attempt)
    number = story.first_failure(task) if failure is None else failure
    event = story.failure(number)
    failed = str(event.get("task"))
    if failed not in source.graph:
        raise ReplayError(f"failure {number} is of {printable(failed)}, which job.json does not list")
    if task is not None and task != failed:
        raise ReplayError(f"failure {number} is of {failed} and not of {task}", remedy=f"Ask for task {failed}")
    return _of_failure(source, story, TaskId(failed), number)


def _of_failure(source: RecordingSource, story: Story, task: TaskId, number: int) -> Scene:
    failed = story.failures[number].get("attempt", 0)
    if not isinstance(failed, int):
        raise ReplayError(f"failure {number} does not say which attempt of {task} failed")
    attempt = failed + 1
    # An attempt that failed before anything came back replayed nothing: the recovery is that of its successor.
    for following in sorted(one for one in story.attempts(task) if one > attempt):
        if not _ended_before_replaying(story, task, attempt) or story.was_rolled_back_to(task, attempt):
            break
        attempt = following
    # Where nothing came back, there is still the attempt before to look at.
    chain = story.lineage_before(task, attempt, source.attempts(task)) or (failed,)
    return Scene(task, attempt, story.checkpoint_of(task, attempt), number, chain, source.manifest.protocol.in_storage)


def _ended_before_replaying(story: Story, task: TaskId, attempt: int) -> bool:
    if story.began_to_replay(task, attempt):
        return False
    life = life_of(story.lives, task, attempt)
    later = any(one == task and n > attempt for one, n in (*story.starts, *story.of_attempt))
    return later and (life is None or life.ended_by == "failure" or (task, attempt) not in story.starts)


def _of_attempt(source: RecordingSource, story: Story, task: str | None, attempt: int) -> Scene:
    if task is None:
        raise ReplayError("an attempt was named, but no task", remedy="Name the task, as with --task join.0")
    if attempt not in set(source.attempts(task)) and (task, attempt) not in story.starts:
        known = ", ".join(str(one) for one in source.attempts(task)) or "none"
        raise ReplayError(f"{task} has no attempt {attempt}", remedy=f"Its attempts in this recording are: {known}")
    return Scene(TaskId(task), attempt, story.checkpoint_of(task, attempt))


def snapshot_of(source: RecordingSource, task: TaskId, checkpoint: int, upto_attempt: int) -> Mapping[str, Any] | None:
    """The latest snapshot of a checkpoint that an attempt up to this one took."""
    for attempt in sorted(source.attempts(task), reverse=True):
        if attempt <= upto_attempt:
            state = source.state(task, attempt, checkpoint)
            if state is not None:
                return state
    return None


def snapshot_member(source: RecordingSource, task: TaskId, checkpoint: int, upto_attempt: int) -> str | None:
    """Where the one that `snapshot_of` gives stands."""
    names = (
        member_name(task, one, "state", checkpoint)
        for one in sorted(source.attempts(task), reverse=True)
        if one <= upto_attempt
    )
    return next((one for one in names if one in source.members), None)


def own_logs(source: RecordingSource, task: TaskId, attempt: int, *, from_epoch: int) -> dict[Thread, dict[int, bytes]]:
    """An attempt's own logs, by thread and epoch."""
    return {
        thread: {
            epoch: source.log_bytes(task, attempt, thread, epoch)
            for epoch in source.epochs(task, attempt, thread)
            if epoch >= from_epoch
        }
        for thread in source.graph.task(task).threads
    }
