"""What a log says that the clock read, held against when the recording says that it was done."""

from __future__ import annotations

from replay.bundle.members import member_name
from replay.causality.life import life_of
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
    if source.manifest.clock.kind != "virtual" or life is None or life.lingers:
        return
    passed = _passed(source, task, attempt)
    origin_ms, at, before_ms = source.manifest.clock.origin_ms, 0, None
    for epoch in source.epochs(task, attempt, MAIN):
        path = member_name(task, attempt, MAIN, epoch)
        for offset, length, one in source.determinants(task, attempt, MAIN, epoch):
            if not isinstance(one, Timestamp):
                continue
            while at < len(passed) and passed[at][0] < (epoch, offset + length):
                at += 1
            latest_us, until = passed[at][1:] if at < len(passed) else (life.ended_us, "the attempt ended")
            if one.value > origin_ms + latest_us // _US_PER_MS:
                why = f"but {until} at {latest_us} us, which is {origin_ms + latest_us // _US_PER_MS} ms by that clock"
                raise _impossible(path, offset, task, epoch, one.value, why)
            if before_ms is not None and one.value < before_ms:
                raise _impossible(path, offset, task, epoch, one.value, f"after {before_ms} ms: time never goes back")
            before_ms = one.value


def _passed(source: RecordingSource, task: TaskId, attempt: int) -> list[tuple[Place, int, str]]:
    """(where the main log had come to, by when, how that is known), each earlier than those behind it."""
    shape = source.graph.task(task)
    found: list[tuple[Place, int, str]] = []
    for i in range(len(shape.inputs)):
        for path, offset, receipt in placed_receipts(source, task, attempt, i):
            if receipt.taken:
                place = receipt.epoch, receipt.offset
                found.append((place, receipt.taken_us, f"the task had taken a buffer after that ({path}, {offset})"))
    for k in range(len(shape.outputs)):
        for placed in placed_buffers(source, task, attempt, k):
            frame = placed.frame
            why = f"a buffer was cut after that ({placed.path} at offset {placed.offset})"
            found.append(((frame.main_epoch, frame.main_offset), frame.t_us, why))
    found.sort(key=lambda one: (one[0], one[1]))
    return found


def _impossible(path: str, offset: int, task: TaskId, epoch: int, value: int, why: str) -> DivergenceFound:
    return DivergenceFound(
        f"{path} at offset {offset}: the clock of {task} read {value} ms, {why}.",
        member=path,
        thread=MAIN,
        epoch=epoch,
        offset=offset,
        logged=value,
    )
