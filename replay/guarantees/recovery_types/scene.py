"""One failure and the attempt that made it good: what is compared with what, from which checkpoint on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from replay.causality.life import ENDED_WITH_RECORDING, life_of
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.scene import choose, snapshot_of
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError, printable
from replay.model import TaskId


@dataclass(frozen=True, slots=True)
class Recovered:
    """`before`: the attempts that did the work which `attempt` does again, the latest first; of a rollback, with those
    that it undid. `state`: the snapshot of `checkpoint`; None where there is none to restore, or it is `lost`.
    `begun_us`: when it began to process, having been told what there is to be told; who failed before tells nothing.
    `finished`: the attempt lived to the recording's end, and that is the job's."""

    failure: int
    task: TaskId
    attempt: int
    checkpoint: int
    before: tuple[int, ...]
    state: Mapping[str, Any] | None
    rolled_back: int | None
    begun_us: int
    finished: bool
    ended_by: str

    @property
    def lost(self) -> bool:
        """Whether the snapshot that it began with is gone."""
        return bool(self.checkpoint) and self.state is None

    def first_seq(self, side: str, channel: str) -> int:
        """The first number since the checkpoint on an input or an output."""
        held = (self.state or {}).get(side)
        number = held.get(channel, 0) if isinstance(held, Mapping) else 0
        return number if type(number) is int else 0

    @property
    def first_offset(self) -> int:
        """Of a source: where it had read to by the checkpoint."""
        held = (self.state or {}).get("source")
        offset = held.get("offset", 0) if isinstance(held, Mapping) else 0
        return offset if type(offset) is int else 0


MOST_BEFORE = 500
"""More attempts than this that had not done all again are not held against who comes after them."""
MOST_ROLLBACKS = 20
"""Of one failure; more are not looked at."""
Unfinished = Callable[[str, int], bool]
"""Whether an attempt, by its task and number, ended before it had done again what was done before it."""


def all_done(task: str, attempt: int) -> bool:
    """Each attempt counts as having done it: where one is held against the execution just before it."""
    return False


def recoveries(source: RecordingSource, story: Story, failure: int) -> list[tuple[TaskId, int]]:
    """The attempts that made a failure good: those of the rollbacks that it led to, or the one that came after it.

    Raises `ReplayError` where the recording does not tell.
    """
    scene = choose(source, story, task=None, failure=failure, attempt=None)
    led_to = [event.get("n") for event in story.rollbacks if event.get("failure") == failure]
    rolled_back = sorted(
        attempt
        for (task, attempt), start in (story.starts.items() if led_to else ())
        if task == scene.task and start.get("rollback", -1) in led_to
    )
    if len(rolled_back) > MOST_ROLLBACKS:
        raise ReplayError(f"failure {failure} led to {len(rolled_back):,} rollbacks, more than {MOST_ROLLBACKS}")
    if not rolled_back and (scene.task, scene.attempt) not in story.starts:
        raise ReplayError(f"no attempt of {printable(scene.task)} began after failure {failure}", path="events.ndjson")
    return [(scene.task, attempt) for attempt in rolled_back or [scene.attempt]]


def began(
    source: RecordingSource, story: Story, task: TaskId, attempt: int, failure: int, unfinished: Unfinished
) -> Recovered:
    """An attempt that does again what was done before it, since its checkpoint."""
    checkpoint, start = story.checkpoint_of(task, attempt), story.starts[task, attempt]
    life = life_of(story.lives, task, attempt)
    ended_by = "" if life is None else life.ended_by
    return Recovered(
        failure,
        task,
        attempt,
        checkpoint,
        before(story, task, attempt, source.attempts(task), unfinished),
        snapshot_of(source, task, checkpoint, attempt) if checkpoint else None,
        start["rollback"] if isinstance(start.get("rollback"), int) else None,
        _begun_us(story, task, attempt),
        ended_by == ENDED_WITH_RECORDING and source.manifest.complete,
        ended_by,
    )


def _begun_us(story: Story, task: str, attempt: int) -> int:
    told = (
        event.get("t_us")
        for event in story.of_attempt.get((task, attempt), ())
        if event.get("type") == "recovery-state" and event.get("to") == "Replaying"
    )
    found = next(told, None)
    return found if isinstance(found, int) else story.start_of(task, attempt)[0]


def before(story: Story, task: str, attempt: int, recorded: Iterable[int], unfinished: Unfinished) -> tuple[int, ...]:
    """Those whose work it does again: back to one that a rollback began, or that was free to do it another way, and
    had done it."""
    found = []
    for one in sorted((one for one in recorded if one < attempt), reverse=True):
        found.append(one)
        if story.was_rolled_back_to(task, one) or (one and begins_anew(story, task, one) and not unfinished(task, one)):
            break
    return tuple(found)


def begins_anew(story: Story, task: str, attempt: int) -> bool:
    """Whether a rollback began it, or it was free to do what was done before it another way."""
    free = story.began_to_replay(task, attempt) and not any(story.returned_to(task, attempt).values())
    return free or story.was_rolled_back_to(task, attempt)


def seen_outside(
    story: Story, task: str, attempt: int, recorded: Iterable[int], unfinished: Unfinished
) -> tuple[int, ...]:
    """The same of what the outside has, which no rollback undoes: also past one that had not done it all again."""
    found, last = list[int](), attempt
    known = sorted(recorded)
    while earlier := before(story, task, last, known, unfinished):
        found, last = [*found, *earlier], earlier[-1]
        if len(found) > MOST_BEFORE:
            raise ReplayError(f"{printable(task)} began more than {MOST_BEFORE:,} times before it had done all again")
        if not (story.was_rolled_back_to(task, last) and unfinished(task, last)):
            break
    return tuple(found)
