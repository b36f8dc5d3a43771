"""What a task passes on of the logs of others has come to it: whoever sends a part of one has received that part."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.bundle.frames import SendingFrame
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts, placed_sendings
from replay.errors import CorruptMember
from replay.log.deltas import DeltaExtent, decode_extents
from replay.model import Channel, LogId, TaskId

Place = tuple[LogId, int]
"""A log and an epoch of it."""


class _Brought(NamedTuple):
    """A sending of an input of which no receipt tells: how far it went in what it carried."""

    channel: Channel
    member: str
    epoch: int
    sending: SendingFrame
    upto: dict[Place, int]


@dataclass(slots=True)
class _Came:
    """What came to one attempt: by place when, and how far by then; and what was sent to it and is not known to."""

    growth: dict[Place, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    silent: list[_Brought] = field(default_factory=list)

    def settle(self) -> None:
        """Sorts by time; from each on all counts that came before."""
        for place, those in self.growth.items():
            upto, grown = 0, list[tuple[int, int]]()
            for t_us, end in sorted(those):
                upto = max(upto, end)
                grown.append((t_us, upto))
            self.growth[place] = grown

    def upto(self, place: Place, t_us: int) -> int:
        """How much of it had come by then."""
        grown = self.growth.get(place, [])
        at = bisect_right(grown, t_us, key=lambda one: one[0])
        return grown[at - 1][1] if at else 0


def check_passed_on(source: RecordingSource, task: TaskId) -> None:
    """Raises at the first sending of any attempt of the task that carries more of another's log than had come:
    `Missing` where it was sent to that attempt, and no receipt tells that it arrived."""
    manifest = source.manifest
    if manifest.clock.kind != "virtual" or not manifest.protocol.logs or not source.graph.task(task).inputs:
        return
    try:
        came = _came(source, task)
        for attempt in source.attempts(task):
            for path, offset, frame in _given(source, task, attempt):
                _check(source, task, attempt, came[attempt], (path, offset, frame))
    except CorruptMember:
        return  # others say where


def _came(source: RecordingSource, task: TaskId) -> dict[int, _Came]:
    found: dict[int, _Came] = defaultdict(_Came)
    for name in source.graph.task(task).inputs:
        channel = source.graph.channel(name)
        received_us = {
            (attempt, receipt.sender_attempt, receipt.seq, receipt.sending): receipt.received_us
            for attempt in source.attempts(task)
            for *_, receipt in placed_receipts(source, task, attempt, channel.i)
        }
        for sender in source.attempts(channel.source):
            for path, _, epoch, frame in placed_sendings(source, channel.source, sender, channel.k):
                upto = {(one.log, one.epoch): one.offset + one.length for one in _extents(source, frame)}
                t_us = received_us.get((frame.receiver_attempt, sender, frame.seq, frame.sending))
                if t_us is None and upto:
                    found[frame.receiver_attempt].silent.append(_Brought(channel, path, epoch, frame, upto))
                for place, end in upto.items() if t_us is not None else ():
                    found[frame.receiver_attempt].growth[place].append((t_us or 0, end))
    for one in found.values():
        one.settle()
    return found


def _given(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, int, SendingFrame]]:
    """On its outputs. (What is left with the world tells when its record came, and not when it was left.)"""
    for k in range(len(source.graph.task(task).outputs)):
        for path, offset, _, frame in placed_sendings(source, task, attempt, k):
            yield path, offset, frame


def _extents(source: RecordingSource, frame: SendingFrame) -> list[DeltaExtent]:
    return decode_extents(frame.delta, source.ids, source.manifest.protocol.delta_layout) if frame.delta else []


def _check(
    source: RecordingSource, task: TaskId, attempt: int, came: _Came, given: tuple[str, int, SendingFrame]
) -> None:
    path, offset, frame = given
    for extent in _extents(source, frame):
        place, end = (extent.log, extent.epoch), extent.offset + extent.length
        if extent.log.task == task or came.upto(place, frame.t_us) >= end:
            continue
        said = (
            f"{path} at offset {offset} carries {extent.log}, epoch {extent.epoch}, up to offset {end}, of which "
            f"{came.upto(place, frame.t_us)} bytes had come to attempt {attempt} of {task} by what its receipts tell"
        )
        brought = [one for one in came.silent if one.upto.get(place, 0) >= end and one.sending.t_us < frame.t_us]
        if not brought:
            raise DivergenceFound(f"{said}.", member=path, offset=offset, log=str(extent.log))
        first = min(brought, key=lambda one: one.sending.t_us)
        raise Missing(
            f"{said}. Buffer {first.sending.seq} of {first.channel.id} brought it ({first.member}), and no receipt "
            f"names it.",
            lacks=member_name(task, attempt, f"received-{first.channel.i}", first.epoch, "rcv"),
            other_member=path,
            channel=first.channel.id,
        )
