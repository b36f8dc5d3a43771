"""One channel at a time: its buffers, its sendings joined with their receipts, and the deltas that they carried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ingest.transforms.decoding.columns import buffer_sizes
from ingest.transforms.framing import RecordWalk
from ingest.transforms.members import Members
from ingest.transforms.places import Flow, LogKey, Reject, Times
from replay.bundle.frames import (
    SENDING_HEAD_BYTES,
    BufferFrame,
    ReceiptFrame,
    SendingFrame,
    read_buffers,
    read_receipts,
    read_sendings,
)
from replay.errors import CorruptMember, DeltaGap
from replay.log.deltas import DeltaExtent, LogIds, decode_extents
from replay.model import MAIN, LogId, read_json, thread_of_output

BOTH_KEPT = "Both are kept; a replay of this log will not be trusted"

SECOND_COLUMNS = 7
"""Buffers, bytes, records, sendings, bytes of deltas, received, taken."""
Row = tuple[Any, ...]
Emit = Callable[[Row], None]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the reading of one attempt's epochs stands: what the epochs behind them are read with."""

    missing_bytes: int = 0
    length: bytes = b""
    last_seq: int | None = None
    upto: dict[tuple[int, LogId, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChannelUnit:
    """A channel's members, of all or some of its epochs: the sender's, and as `rcv` the receiver's."""

    channel: str
    source: str
    k: int | None
    target: str | None
    buf: Members = field(default_factory=Members)
    dlt: Members = field(default_factory=Members)
    det: Members = field(default_factory=Members)
    rcv: Members = field(default_factory=Members)
    begun: dict[int, Standing] = field(default_factory=dict)
    """By the sender's attempt, where the reading of the epochs before these stood."""

    @property
    def read(self) -> tuple[Members, ...]:
        """What the unit reads in full."""
        return self.buf, self.dlt, self.rcv

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.read)

    @property
    def to_world(self) -> bool:
        return self.k is None


@dataclass(slots=True)
class ChannelSink:
    """Where rows of a channel go, and what is told to the driver about them."""

    buffers: Emit
    sendings: Emit
    deltas: Emit
    rejects: list[Reject] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    seconds: dict[int, list[int]] = field(default_factory=dict)
    """Of every second what was done in it, as columns of the roll-up."""
    times: Times = field(default_factory=Times)
    last_us: int = 0

    def count(self, t_us: int, *counts: tuple[int, int]) -> None:
        """Adds to columns, (place, how much), of the second that this moment is in."""
        columns = self.seconds.setdefault(t_us // 1_000_000, [0] * SECOND_COLUMNS)
        for place, more in counts:
            columns[place] += more

    def reject(self, fault: CorruptMember, path: str) -> None:
        row = Reject.of(fault, path)
        if row not in self.rejects:  # receipts are read once per attempt of their sender
            self.rejects.append(row)


Open = Callable[[str], BinaryIO]
ReceiptKey = tuple[int, int, int]


class ChannelReader:
    """Reads one channel's members, attempt by attempt and epoch by epoch, and emits rows in that order.

    `whole`: nothing more comes to them. Else one member may be behind another, which is no disagreement.
    """

    def __init__(
        self, unit: ChannelUnit, open_member: Open, ids: LogIds, layout: str, sink: ChannelSink, *, whole: bool = True
    ) -> None:
        self.unit = unit
        self.whole = whole
        self.open = open_member
        self.ids = ids
        self.layout = layout
        self.sink = sink
        self._walk = RecordWalk()
        self._last_seq: int | None = None
        self._receivers = unit.rcv.by_epoch()
        self._remarks: dict[tuple[str, str], tuple[Reject, int]] = {}
        self._upto: dict[tuple[int, LogId, int], int] = {}
        self.standing = dict(unit.begun)
        """By the sender's attempt, where its reading stood at the end."""

    def run(self) -> None:
        for attempt, epochs in self._attempts().items():
            begun = self.unit.begun.get(attempt, Standing())
            self._walk.go_on(begun.missing_bytes, begun.length)
            self._last_seq = begun.last_seq
            if not self.unit.to_world:  # the outside world outlives the attempts of the sink that writes to it
                self._upto = dict(begun.upto)
            for epoch in sorted(epochs):
                self._epoch(attempt, epoch)
            self.standing[attempt] = Standing(*self._walk.stands, self._last_seq, self._upto)

    def _attempts(self) -> dict[int, set[int]]:
        """Epochs by sender's attempt; attempts of which there are only receipts are among them."""
        found: dict[int, set[int]] = {}
        for attempt, epoch in (*self.unit.buf, *self.unit.dlt):
            found.setdefault(attempt, set()).add(epoch)
        for receiver_attempt, epoch in self.unit.rcv:
            for _, receipt in self._receipts(self.unit.rcv.path(receiver_attempt, epoch)):
                found.setdefault(receipt.sender_attempt, set()).add(epoch)
        return dict(sorted(found.items()))

    def _epoch(self, attempt: int, epoch: int) -> None:
        buffers, size_bytes, records = self._buffers(attempt, epoch)
        receipts = self._receipts_of(attempt, epoch)
        rows, delta_bytes = self._sendings(attempt, epoch, receipts)
        rows += [_sending_row(self.unit.channel, attempt, key, None, one) for key, one in receipts.items()]
        rows.sort(key=lambda row: (row[2], row[3], row[4]))
        for row in rows:
            self.sink.sendings(row)
        self._tell_remarks()
        received = sum(row[7] is not None for row in rows)
        taken = sum(row[8] is not None for row in rows)
        self.sink.flows.append(
            Flow(
                self.unit.channel, attempt, epoch, buffers, size_bytes, records, len(rows), received, taken, delta_bytes
            )
        )

    # --- buffers ---

    def _buffers(self, attempt: int, epoch: int) -> tuple[int, int, int]:
        path = self.unit.buf.get(attempt, epoch)
        if path is None:
            self._walk.restart()
            return 0, 0, 0
        built, sound = self._built(attempt, epoch)
        buffers = size_bytes = records = 0
        try:
            for offset, frame in read_buffers(self.open(path), epoch=epoch, path=path):
                ended = self._ended_in(frame, offset)
                self._check_seq(frame.seq, offset, path)
                self._compare(built, buffers, frame, offset, path, attempt)
                self._emit_buffer(attempt, frame, ended)
                buffers, size_bytes, records = buffers + 1, size_bytes + len(frame.payload), records + ended
            if self.whole and built is not None and sound and len(built) != buffers:
                log = self.unit.det.path(attempt, epoch)
                self._remark("count", path, None, f"it holds {buffers} buffers, and {log} names {len(built)}")
        except CorruptMember as fault:
            self._walk.restart()
            self.sink.reject(fault, path)
        return buffers, size_bytes, records

    def _ended_in(self, frame: BufferFrame, offset: int) -> int:
        try:
            if not frame.is_event:
                return self._walk.ended_in(frame.payload)
            if not self._walk.between_records:
                raise CorruptMember("an event stands in the middle of a record")
            _check_event(frame.payload)
            return 0
        except CorruptMember as fault:
            fault.offset = offset
            raise

    def _emit_buffer(self, attempt: int, frame: BufferFrame, ended: int) -> None:
        unit, times = self.unit, self.sink.times
        self.sink.buffers(
            (
                unit.channel,
                attempt,
                frame.seq,
                frame.epoch,
                frame.t_us,
                len(frame.payload),
                frame.flags,
                frame.main_epoch,
                frame.main_offset,
                ended,
            )
        )
        self.sink.count(frame.t_us, (0, 1), (1, len(frame.payload)), (2, ended))
        times.note(LogKey(unit.source, attempt, thread_of_output(unit.k or 0), frame.epoch), frame.t_us)
        times.note(LogKey(unit.source, attempt, MAIN, frame.main_epoch), frame.t_us)
        self.sink.last_us = max(self.sink.last_us, frame.t_us)

    def _built(self, attempt: int, epoch: int) -> tuple[list[int] | None, bool]:
        """What the output thread's log says its buffers measure, and whether it says it of all of them.

        None where there is no such log to compare with.
        """
        path = self.unit.det.get(attempt, epoch)
        return (None, False) if path is None else buffer_sizes(self.open(path).read())

    def _check_seq(self, seq: int, offset: int, path: str) -> None:
        if self._last_seq is not None and seq <= self._last_seq:
            self._remark("order", path, offset, f"buffer {seq} follows buffer {self._last_seq}, and numbers must go up")
        self._last_seq = seq

    def _compare(
        self, built: list[int] | None, n: int, frame: BufferFrame, offset: int, path: str, attempt: int
    ) -> None:
        if built is None or n >= len(built) or built[n] == len(frame.payload):
            return
        log = self.unit.det.path(attempt, frame.epoch)
        size = len(frame.payload)
        why = f"buffer {frame.seq} has {size} bytes, and buffer-built {n} of {log} says {built[n]}"
        self._remark("size", path, offset, why)

    def _remark(self, rule: str, path: str, offset: int | None, why: str, what_is_kept: str = BOTH_KEPT) -> None:
        """A disagreement within or between members. The first of each rule is told, the others are counted."""
        first, count = self._remarks.get((path, rule), (Reject(path, offset, f"{why}. {what_is_kept}."), 0))
        self._remarks[path, rule] = (first, count + 1)

    def _tell_remarks(self) -> None:
        for first, count in self._remarks.values():
            more = f" So it is with {count - 1} more." if count > 1 else ""
            self.sink.rejects.append(first._replace(why=f"{first.why}{more}"))
        self._remarks = {}

    # --- sendings and receipts ---

    def _receipts(self, path: str) -> Iterator[tuple[int, ReceiptFrame]]:
        try:
            yield from read_receipts(self.open(path), path=path)
        except CorruptMember as fault:
            self.sink.reject(fault, path)

    def _receipts_of(self, attempt: int, epoch: int) -> dict[ReceiptKey, ReceiptFrame]:
        found: dict[ReceiptKey, ReceiptFrame] = {}
        for receiver_attempt in self._receivers.get(epoch, ()):
            path = self.unit.rcv.path(receiver_attempt, epoch)
            for offset, receipt in self._receipts(path):
                if receipt.sender_attempt != attempt:
                    continue
                key = (receipt.seq, receipt.sending, receiver_attempt)
                if key in found:
                    why = f"sending {receipt.sending} of buffer {receipt.seq} was received before"
                    self._remark("twice", path, offset, why, "The first receipt is kept")
                    continue
                found[key] = receipt
                self._note_receipt(receiver_attempt, receipt)
        return found

    def _note_receipt(self, receiver_attempt: int, receipt: ReceiptFrame) -> None:
        self.sink.last_us = max(self.sink.last_us, receipt.received_us, receipt.taken_us)
        self.sink.count(receipt.received_us, (5, 1))
        if receipt.taken:
            self.sink.count(receipt.taken_us, (6, 1))
        if receipt.taken and self.unit.target is not None:
            key = LogKey(self.unit.target, receiver_attempt, MAIN, receipt.epoch)
            self.sink.times.note(key, receipt.taken_us)

    def _sendings(self, attempt: int, epoch: int, receipts: dict[ReceiptKey, ReceiptFrame]) -> tuple[list[Row], int]:
        path = self.unit.dlt.get(attempt, epoch)
        rows: list[Row] = []
        delta_bytes = 0
        if path is None:
            return rows, delta_bytes
        try:
            for offset, frame in read_sendings(self.open(path), path=path):
                extents = self._extents(frame, offset, path)
                delta_bytes += len(frame.delta)
                self.sink.count(frame.t_us, (3, 1), (4, len(frame.delta)))
                self._emit_deltas(attempt, frame, extents)
                key = (frame.seq, frame.sending, frame.receiver_attempt)
                rows.append(_sending_row(self.unit.channel, attempt, key, frame, receipts.pop(key, None)))
                self.sink.last_us = max(self.sink.last_us, frame.t_us)
        except CorruptMember as fault:
            self.sink.reject(fault, path)
        return rows, delta_bytes

    def _extents(self, frame: SendingFrame, offset: int, path: str) -> list[DeltaExtent]:
        at = offset + SENDING_HEAD_BYTES
        extents = decode_extents(frame.delta, self.ids, self.layout, path=path, at=at)
        reached = dict[tuple[int, LogId, int], int]()
        for one in extents:
            key = (frame.receiver_attempt, one.log, one.epoch)
            known = reached.get(key, self._upto.get(key, 0))
            if one.offset > known:
                raise DeltaGap(
                    f"the delta of {one.log} in epoch {one.epoch} begins at byte {one.offset}, "
                    f"and the receiver holds {known}",
                    channel=self.unit.channel,
                    log=one.log,
                    epoch=one.epoch,
                    path=path,
                    offset=offset,
                    remedy="What stands before it is kept; record the job again to have the rest",
                )
            reached[key] = max(known, one.offset + one.length)
        self._upto.update(reached)  # nothing of a message with a gap counts
        return extents

    def _emit_deltas(self, attempt: int, frame: SendingFrame, extents: list[DeltaExtent]) -> None:
        for one in extents:
            self.sink.deltas(
                (
                    self.unit.channel,
                    attempt,
                    frame.seq,
                    frame.sending,
                    one.log.task,
                    one.log.thread,
                    one.epoch,
                    one.offset,
                    one.length,
                )
            )


def _sending_row(
    channel: str, attempt: int, key: ReceiptKey, frame: SendingFrame | None, receipt: ReceiptFrame | None
) -> Row:
    """A receipt without a sending is kept too: the sender's member may be missing or cut."""
    seq, sending, receiver_attempt = key
    sent = (frame.t_us, frame.flags) if frame is not None else (None, None)
    if receipt is None:
        arrived: Row = (None, None, None, None, None)
    elif receipt.taken:
        arrived = (receipt.received_us, receipt.taken_us, receipt.epoch, receipt.offset, receipt.record_count)
    else:
        arrived = (receipt.received_us, None, None, None, None)
    return (channel, attempt, seq, sending, receiver_attempt, *sent, *arrived)


def _check_event(payload: bytes) -> None:
    try:
        event = read_json(payload)
    except ValueError:
        raise CorruptMember("the event of the buffer is not JSON") from None
    if not isinstance(event, dict):
        raise CorruptMember("the event of the buffer is not an object")
