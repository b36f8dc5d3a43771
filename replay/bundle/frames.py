"""The frames of `.buf`, `.dlt` and `.rcv` members."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from replay.errors import CorruptMember

IS_EVENT = 1
HELD_BACK = 2
FROM_IN_FLIGHT = 1
NEVER = -1

_BUFFER = struct.Struct(">qqBqii")
_SENDING = struct.Struct(">qqIIBi")
_RECEIPT = struct.Struct(">qIIqqqii")
RECEIPT_BYTES = _RECEIPT.size
_REMEDY = "What stands before it is kept; record the job again to have the rest"


@dataclass(frozen=True, slots=True)
class BufferFrame:
    """A buffer as it was cut. `epoch` is the buffer's own (its file's); `main_…` the task's main log at the cut."""

    seq: int
    t_us: int
    flags: int
    epoch: int
    main_epoch: int
    main_offset: int
    payload: bytes

    @property
    def is_event(self) -> bool:
        """Whether it carries an event and not records."""
        return bool(self.flags & IS_EVENT)

    @property
    def held_back(self) -> bool:
        """Whether a recovery rebuilt it and did not send it."""
        return bool(self.flags & HELD_BACK)

    def to_bytes(self) -> bytes:
        """As in a `.buf` member."""
        head = _BUFFER.pack(self.seq, self.t_us, self.flags, self.main_epoch, self.main_offset, len(self.payload))
        return head + self.payload


@dataclass(frozen=True, slots=True)
class SendingFrame:
    """One sending of a buffer, with the delta messages it carried."""

    seq: int
    t_us: int
    receiver_attempt: int
    sending: int
    flags: int
    delta: bytes

    @property
    def from_in_flight(self) -> bool:
        """Whether it was sent from the in-flight log."""
        return bool(self.flags & FROM_IN_FLIGHT)

    def to_bytes(self) -> bytes:
        """As in a `.dlt` member."""
        head = _SENDING.pack(self.seq, self.t_us, self.receiver_attempt, self.sending, self.flags, len(self.delta))
        return head + self.delta


@dataclass(frozen=True, slots=True)
class ReceiptFrame:
    """What arrived on an input, and where the receiver stood when it was taken; -1 where it never was."""

    seq: int
    sender_attempt: int
    sending: int
    received_us: int
    taken_us: int = NEVER
    epoch: int = NEVER
    offset: int = NEVER
    record_count: int = NEVER

    @property
    def taken(self) -> bool:
        """Whether the receiver got to it."""
        return self.taken_us != NEVER

    def to_bytes(self) -> bytes:
        """As in a `.rcv` member."""
        return _RECEIPT.pack(
            self.seq,
            self.sender_attempt,
            self.sending,
            self.received_us,
            self.taken_us,
            self.epoch,
            self.offset,
            self.record_count,
        )


BUFFER_HEAD_BYTES = _BUFFER.size
SENDING_HEAD_BYTES = _SENDING.size


def read_buffers(source: bytes | BinaryIO, *, epoch: int, path: str | None = None) -> Iterator[tuple[int, BufferFrame]]:
    """Every frame of a `.buf` member with its offset; a cut frame is a `CorruptMember`."""
    for offset, head, payload in _frames(source, _BUFFER, "buffer", path):
        seq, t_us, flags, main_epoch, main_offset, _ = head
        _check_flags(flags, IS_EVENT | HELD_BACK, "buffer", path, offset)
        yield offset, BufferFrame(seq, t_us, flags, epoch, main_epoch, main_offset, payload)


def read_sendings(source: bytes | BinaryIO, *, path: str | None = None) -> Iterator[tuple[int, SendingFrame]]:
    """Every frame of a `.dlt` member with its offset; a cut frame is a `CorruptMember`."""
    for offset, head, payload in _frames(source, _SENDING, "sending", path):
        seq, t_us, receiver_attempt, sending, flags, _ = head
        _check_flags(flags, FROM_IN_FLIGHT, "sending", path, offset)
        yield offset, SendingFrame(seq, t_us, receiver_attempt, sending, flags, payload)


def read_receipts(source: bytes | BinaryIO, *, path: str | None = None) -> Iterator[tuple[int, ReceiptFrame]]:
    """Every frame of a `.rcv` member with its offset; a cut frame is a `CorruptMember`."""
    stream, size = _opened(source)
    for offset in range(0, size, _RECEIPT.size):
        yield offset, ReceiptFrame(*_head(stream, _RECEIPT, offset, "receipt", path))


def _frames(
    source: bytes | BinaryIO, form: struct.Struct, what: str, path: str | None
) -> Iterator[tuple[int, tuple[int, ...], bytes]]:
    stream, size = _opened(source)
    offset = 0
    while offset < size:
        head = _head(stream, form, offset, what, path)
        length, left = head[-1], size - offset - form.size
        if not 0 <= length <= left:
            why = f"the {what} frame claims {length} bytes, and {left} are left"
            raise CorruptMember(why, path=path, offset=offset, remedy=_REMEDY)
        yield offset, head, stream.read(length)
        offset += form.size + length


def _check_flags(flags: int, known: int, what: str, path: str | None, offset: int) -> None:
    if flags & ~known:
        why = f"the {what} frame has flags {flags:#04x}, of which only {known:#04x} are known"
        raise CorruptMember(why, path=path, offset=offset, remedy=_REMEDY)


def _opened(source: bytes | BinaryIO) -> tuple[BinaryIO, int]:
    stream = io.BytesIO(source) if isinstance(source, (bytes, bytearray, memoryview)) else source
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    return stream, size


def _head(stream: BinaryIO, form: struct.Struct, offset: int, what: str, path: str | None) -> tuple[int, ...]:
    data = stream.read(form.size)
    if len(data) < form.size:
        why = f"the {what} frame is cut short after {len(data)} of its {form.size} bytes"
        raise CorruptMember(why, path=path, offset=offset, remedy=_REMEDY)
    return form.unpack(data)
