"""Where a log differs from what its task itself gave away of it: that is where it is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from replay.bundle.frames import read_sendings
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import first_difference
from replay.debugger.recorded.members import placed_sendings
from replay.errors import ReplayError
from replay.log.deltas import decode_extents
from replay.model import LogId, TaskId, Thread


class Copied(NamedTuple):
    """`at`: where in the log. The copy stands in `member`, in what was sent at `offset`."""

    at: int
    member: str
    offset: int

    @property
    def words(self) -> str:
        """As the end of a sentence."""
        return f"from offset {self.at} on it is not what was sent of it ({self.member} at offset {self.offset})"


def first_difference_from_copies(
    source: RecordingSource, task: TaskId, attempt: int, thread: Thread, epoch: int
) -> Copied | None:
    """None where all agree, or nothing of it was sent."""
    own, log = source.log_bytes(task, attempt, thread, epoch), LogId(task, thread)
    layout, found = source.manifest.protocol.delta_layout, None
    try:
        for member, offset, delta in _deltas(source, task, attempt):
            for extent in decode_extents(delta, source.ids, layout):
                if (extent.log, extent.epoch) != (log, epoch):
                    continue
                data = delta[extent.at : extent.at + extent.length]
                same = first_difference(own[extent.offset : extent.offset + extent.length], data)
                if same < len(data) and (found is None or extent.offset + same < found.at):
                    found = Copied(extent.offset + same, member, offset)
    except (DivergenceFound, ReplayError):
        return found  # what is damaged itself is no witness
    return found


def _deltas(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, int, bytes]]:
    for k in range(len(source.graph.task(task).outputs)):
        for member, offset, _, frame in placed_sendings(source, task, attempt, k):
            if frame.delta:
                yield member, offset, frame.delta
    for epoch in source.epochs(task, attempt, "world"):
        member = member_name(task, attempt, "world", epoch)
        with source.members.open(member) as stream:
            for offset, left in read_sendings(stream, path=member):
                if left.delta:
                    yield member, offset, left.delta
