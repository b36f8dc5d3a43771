"""Which input's buffer was taken next is a choice: where a receipt stands in the main log, there the log names it."""

from __future__ import annotations

from typing import NamedTuple

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts
from replay.errors import CorruptDeterminant
from replay.log.codec import decode_all
from replay.log.determinants import Determinant, Order
from replay.model import MAIN, TaskId


class _Take(NamedTuple):
    epoch: int
    at: int
    i: int
    path: str
    offset: int
    seq: int


def check_orders(source: RecordingSource, task: TaskId, attempt: int) -> None:
    """Raises `DivergenceFound` at the first taken buffer, in the log's order, that the log does not name there."""
    inputs = source.graph.task(task).inputs
    if source.manifest.clock.kind != "virtual" or len(inputs) < 2:
        return
    logs = _logs(source, task, attempt)
    for take in sorted(one for i in range(len(inputs)) for one in _taken(source, task, attempt, i)):
        log = logs.get(take.epoch)
        found = None if log is None else log.get(take.at)
        if log is None or found == Order(take.i):
            continue
        member = member_name(task, attempt, MAIN, take.epoch)
        raise DivergenceFound(
            f"{take.path} at offset {take.offset}: the receipt of buffer {take.seq} of {inputs[take.i]} says that it "
            f"was taken at offset {take.at} of the main log, epoch {take.epoch}, where the log has "
            f"{found or 'nothing'} and not {Order(take.i)} ({member}).",
            member=take.path,
            offset=take.offset,
            log_member=member,
            log_offset=take.at,
            channel=inputs[take.i],
            buffer=take.seq,
        )


def _logs(source: RecordingSource, task: TaskId, attempt: int) -> dict[int, dict[int, Determinant]]:
    """By epoch, what stands where; logs that are not there, or can't be read, say nothing."""
    found = {}
    for epoch in source.epochs(task, attempt, MAIN):
        try:
            log = source.log_bytes(task, attempt, MAIN, epoch)
            found[epoch] = {offset: one for offset, _, one in decode_all(log)}
        except CorruptDeterminant:
            continue
    return found


def _taken(source: RecordingSource, task: TaskId, attempt: int, i: int) -> list[_Take]:
    """Of those that are records as far as can be seen: no log tells of barriers, nor a buffer that is gone whether it
    was one, and a flipped bit may have made one of any event."""
    channel = source.graph.channel(source.graph.task(task).inputs[i])
    others = {
        (sender, placed.frame.seq)
        for sender in source.attempts(channel.source)
        for placed in placed_buffers(source, channel.source, sender, channel.k)
        if not placed.frame.is_event and not placed.frame.payload.startswith(b'{"')
    }
    return [
        _Take(receipt.epoch, receipt.offset, i, path, offset, receipt.seq)
        for path, offset, receipt in placed_receipts(source, task, attempt, i)
        if receipt.taken and (receipt.sender_attempt, receipt.seq) in others
    ]
