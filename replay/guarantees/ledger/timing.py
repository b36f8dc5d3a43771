"""What times say: how long anything is on its way, and in which epoch a task was when it read or wrote a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.causality.life import life_of
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts, placed_sendings
from replay.debugger.recorded.story import Story
from replay.model import TaskId

FEW_ARRIVALS = 10
"""Fewer say nothing of how long others may take."""
MARGIN = 2
"""So many times as long as the longest that is known."""


class Stand(NamedTuple):
    """At a time a task was in an epoch, as something that it did says."""

    t_us: int
    epoch: int
    what: str


def check_transits(source: RecordingSource, story: Story) -> None:
    """Raises `Missing` at the first sending without a receipt that had ample time to arrive."""
    if source.manifest.clock.kind != "virtual":
        return
    silent, longest_us, arrived = [], 0, 0
    for channel in source.graph.channels:
        received = {
            (receipt.sender_attempt, receipt.seq, receipt.sending): receipt.received_us
            for attempt in source.attempts(channel.target)
            for *_, receipt in placed_receipts(source, channel.target, attempt, channel.i)
        }
        for attempt in source.attempts(channel.source):
            for path, offset, epoch, sending in placed_sendings(source, channel.source, attempt, channel.k):
                received_us = received.get((attempt, sending.seq, sending.sending))
                if received_us is not None:
                    longest_us, arrived = max(longest_us, received_us - sending.t_us), arrived + 1
                    continue
                ends = [life_of(story.lives, channel.source, attempt)]
                ends.append(life_of(story.lives, channel.target, sending.receiver_attempt))
                had_us = min((one.ended_us for one in ends if one is not None), default=0) - sending.t_us
                silent.append((had_us, channel, path, offset, epoch, sending))
    for had_us, channel, path, offset, epoch, sending in silent:
        if arrived >= FEW_ARRIVALS and had_us > MARGIN * longest_us:
            lacks = member_name(channel.target, sending.receiver_attempt, f"received-{channel.i}", epoch, "rcv")
            raise Missing(
                f"{path} at offset {offset} has sending {sending.sending} of buffer {sending.seq} of {channel.id}, "
                f"made {had_us} us before either of its tasks ended. None that arrived was longer on its way than "
                f"{longest_us} us, and no receipt names it.",
                lacks=lacks,
                other_member=path,
                channel=channel.id,
            )


def check_epochs_of_lines(source: RecordingSource, task: TaskId, attempt: int) -> None:
    """Raises `DivergenceFound` at the first line that is filed under an epoch in which its task was not then."""
    if source.manifest.clock.kind != "virtual":
        return
    lines = [*_lines(source, task, attempt)]
    if not lines:
        return
    # When a buffer is cut, its task is where the buffer says that the log stood, or further on.
    taken = [*_taken(source, task, attempt)]
    entered, _ = _passages([*taken, *_cut(source, task, attempt)])
    _, left = _passages(taken)
    for stand, path, offset in lines:
        before = next((one for one in entered if one.epoch > stand.epoch and one.t_us < stand.t_us), None)
        behind = next((one for one in left if one.epoch < stand.epoch and one.t_us > stand.t_us), None)
        other = before or behind
        if other is not None:
            raise DivergenceFound(
                f"{path} at offset {offset}: {stand.what} of {task} at {stand.t_us} us is filed under epoch "
                f"{stand.epoch}, but {other.what} at {other.t_us} us, {'before' if before else 'after'} it, says that "
                f"the task was in epoch {other.epoch}.",
                member=path,
                offset=offset,
                asked=other.epoch,
                logged=stand.epoch,
            )


def _passages(stands: list[Stand]) -> tuple[list[Stand], list[Stand]]:
    """The first stand in each epoch, the earliest first, and the last one, the latest first."""
    first: dict[int, Stand] = {}
    last: dict[int, Stand] = {}
    for one in stands:
        if one.epoch not in first or one.t_us < first[one.epoch].t_us:
            first[one.epoch] = one
        if one.epoch not in last or one.t_us > last[one.epoch].t_us:
            last[one.epoch] = one
    return sorted(first.values()), sorted(last.values(), reverse=True)


def _taken(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[Stand]:
    for i, channel in enumerate(source.graph.task(task).inputs):
        for *_, receipt in placed_receipts(source, task, attempt, i):
            if receipt.taken:
                yield Stand(receipt.taken_us, receipt.epoch, f"buffer {receipt.seq} of {channel}, taken")


def _cut(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[Stand]:
    for k, output in enumerate(source.graph.task(task).outputs):
        for placed in placed_buffers(source, task, attempt, k):
            frame = placed.frame
            yield Stand(frame.t_us, frame.main_epoch, f"buffer {frame.seq} of {output.channel}, cut")


def _lines(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[Stand, str, int]]:
    """Those that are made as the task goes; what waits for a checkpoint or for a storage is given out later."""
    protocol = source.manifest.protocol
    later = protocol.waits or protocol.sink == "idempotent"
    for folder, what in (("source", "record"), *(() if later else (("sink", "write"),))):
        for epoch in source.epochs(task, attempt, folder):
            path = member_name(task, attempt, folder, epoch)
            with source.members.open(path) as stream:
                for offset, line in read_lines(stream, path):
                    number, t_us = line.get("offset" if folder == "source" else "n"), line.get("t_us")
                    if type(t_us) is int:
                        yield Stand(t_us, epoch, f"{what} {number}"), path, offset
