"""What a log says that the clock read, held against when the recording says that it was done."""

from __future__ import annotations

from typing import NamedTuple

from replay.bundle.members import member_name
from replay.causality.life import ENDED_WITH_RECORDING, life_of
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts
from replay.debugger.recorded.story import Story
from replay.log.determinants import Timestamp
from replay.model import MAIN, TaskId

Place = tuple[int, int]
"""(epoch, offset) of the main log."""
_US_PER_MS = 1000


def check_readings(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> None:
    """Raises `DivergenceFound` at the first reading that goes back, or that tells a time which was still to come."""
    life = life_of(story.lives, task, attempt)
    if source.manifest.clock.kind != "virtual" or life is None:
        return
    passed = _passed(source, task, attempt)
    origin_ms, at, before_ms = source.manifest.clock.origin_ms, 0, None
    for epoch in source.epochs(task, attempt, MAIN):
        path = member_name(task, attempt, MAIN, epoch)
        for offset, length, one in source.determinants(task, attempt, MAIN, epoch):
            if not isinstance(one, Timestamp):
                continue
            while at < len(passed) and passed[at].place < (epoch, offset + length):
                at += 1
            by = passed[at] if at < len(passed) else _Passed((epoch, offset), life.ended_us, "the attempt ended")
            # One that nothing ended went on behind the last event, and one that was only suspected behind its own end.
            is_known = at < len(passed) or not (life.lingers or life.ended_by == ENDED_WITH_RECORDING)
            if is_known and one.value > (latest_ms := origin_ms + by.t_us // _US_PER_MS):
                why = f"but {by.why} at {by.t_us} us, which is {latest_ms} ms by that clock"
                raise _impossible(path, offset, task, epoch, one.value, why, by)
            if before_ms is not None and one.value < before_ms:
                raise _impossible(path, offset, task, epoch, one.value, f"after {before_ms} ms: time never goes back")
            before_ms = one.value


class _Passed(NamedTuple):
    """Where the main log had come to, by when, and which frame of which member says so."""

    place: Place
    t_us: int
    why: str
    member: str | None = None
    offset: int | None = None


def _passed(source: RecordingSource, task: TaskId, attempt: int) -> list[_Passed]:
    """Each earlier than those behind it."""
    shape = source.graph.task(task)
    found: list[_Passed] = []
    for i in range(len(shape.inputs)):
        for path, offset, receipt in placed_receipts(source, task, attempt, i):
            if receipt.taken:
                place = receipt.epoch, receipt.offset
                why = f"the task had taken a buffer after that ({path} at offset {offset})"
                found.append(_Passed(place, receipt.taken_us, why, path, offset))
    for k in range(len(shape.outputs)):
        for placed in placed_buffers(source, task, attempt, k):
            frame = placed.frame
            why = f"a buffer was cut after that ({placed.path} at offset {placed.offset})"
            found.append(_Passed((frame.main_epoch, frame.main_offset), frame.t_us, why, placed.path, placed.offset))
    found.sort(key=lambda one: (one.place, one.t_us))
    return found


def _impossible(
    path: str, offset: int, task: TaskId, epoch: int, value: int, why: str, by: _Passed | None = None
) -> DivergenceFound:
    return DivergenceFound(
        f"{path} at offset {offset}: the clock of {task} read {value} ms, {why}.",
        member=path,
        thread=MAIN,
        epoch=epoch,
        offset=offset,
        logged=value,
        other_member=None if by is None else by.member,
        other_offset=None if by is None else by.offset,
    )
