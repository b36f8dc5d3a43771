"""What times say: how long anything is on its way, and in which epoch a task was when it read or wrote a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from replay.bundle.frames import SendingFrame
from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.causality.life import life_of
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts, placed_sendings
from replay.debugger.recorded.story import Story
from replay.guarantees.ledger.transits import FEW_ARRIVALS, Arrivals
from replay.model import Channel, TaskId


class Stand(NamedTuple):
    """At a time a task was in an epoch, as something that it did says."""

    t_us: int
    epoch: int
    what: str


def check_transits(source: RecordingSource, story: Story) -> None:
    """Raises `Missing` at the first sending without a receipt that had ample time to arrive."""
    if source.manifest.clock.kind != "virtual":
        return
    silent, arrivals = list[_Silent](), Arrivals()
    for channel in source.graph.channels:
        received = {
            (receipt.sender_attempt, receipt.seq, receipt.sending): receipt.received_us
            for attempt in source.attempts(channel.target)
            for *_, receipt in placed_receipts(source, channel.target, attempt, channel.i)
        }
        for attempt in source.attempts(channel.source):
            cut = placed_buffers(source, channel.source, attempt, channel.k)
            payload_bytes = {placed.frame.seq: len(placed.frame.payload) for placed in cut}
            last_us: dict[int, int] = {}
            for path, offset, epoch, sending in placed_sendings(source, channel.source, attempt, channel.k):
                received_us = received.get((attempt, sending.seq, sending.sending))
                sent_bytes = payload_bytes.get(sending.seq, 0) + len(sending.delta)
                if received_us is not None:
                    # Right behind another it may have had to wait for that one.
                    waited = received_us == last_us.get(sending.receiver_attempt, -1) + 1
                    arrivals.add(received_us - sending.t_us, sent_bytes, waited=waited)
                    last_us[sending.receiver_attempt] = received_us
                    continue
                ends = [life_of(story.lives, channel.source, attempt)]
                ends.append(life_of(story.lives, channel.target, sending.receiver_attempt))
                ended_us = min((one.ended_us for one in ends if one is not None), default=0)
                silent.append(_Silent(channel, attempt, path, offset, epoch, sending, sent_bytes, ended_us))
    if silent and arrivals.count >= FEW_ARRIVALS:
        _check_silent(silent, arrivals)


class _Silent(NamedTuple):
    """A sending of which no receipt tells; `ended_us`: when the first of its two tasks did."""

    channel: Channel
    attempt: int
    path: str
    offset: int
    epoch: int
    sending: SendingFrame
    sent_bytes: int
    ended_us: int


def _check_silent(silent: list[_Silent], arrivals: Arrivals) -> None:
    """In the order in which they were sent: over one connection nothing overtakes what was sent before it."""
    due_us: dict[tuple[str, int, int], int] = {}
    growth = arrivals.growth()
    for one in sorted(silent, key=lambda one: one.sending.t_us):
        channel, sending = one.channel, one.sending
        over = channel.id, one.attempt, sending.receiver_attempt
        due_us[over] = max(due_us.get(over, 0), sending.t_us + arrivals.ample_us(one.sent_bytes, growth))
        if one.ended_us > due_us[over]:
            raise Missing(
                f"{one.path} at offset {one.offset} has sending {sending.sending} of buffer {sending.seq} of "
                f"{channel.id}, made {one.ended_us - sending.t_us} us before either of its tasks ended. By what is "
                f"known of others, of which none was longer on its way than {arrivals.longest_us} us, it had to arrive "
                f"within {due_us[over] - sending.t_us} us, and no receipt names it.",
                lacks=member_name(channel.target, sending.receiver_attempt, f"received-{channel.i}", one.epoch, "rcv"),
                other_member=one.path,
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
