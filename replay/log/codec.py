"""Determinants to bytes and back, exactly as Clonos writes them and the log format extends them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from replay.errors import CorruptDeterminant, InvariantError
from replay.log.determinants import (
    CALLBACKS,
    CHECKPOINT_TYPES,
    INTERNAL_CALLBACK,
    INTERNAL_PREFIX,
    JAVA_STREAM_MAGIC,
    SIZED_PAYLOAD_MAGIC,
    BufferBuilt,
    Determinant,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    Take,
    TimerTrigger,
    Timestamp,
)
from replay.log.java_stream import end_of_stream

Decoder = Callable[[bytes, int], tuple[Determinant, int]]

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_TIMER = struct.Struct(">iqB")
_SOURCE_CHECKPOINT = struct.Struct(">iqqBB")
_IGNORE_CHECKPOINT = struct.Struct(">iq")
_TAKE = struct.Struct(">IqI")
_CUT_SHORT = "the determinant is cut short"
_RESUME = "What stands before it is kept; record the job again to have the rest"


def encode(determinant: Determinant) -> bytes:
    """The bytes of one determinant, tag first."""
    try:
        return _ENCODERS[type(determinant)](determinant)
    except (struct.error, ValueError) as fault:
        raise InvariantError(f"{determinant} cannot be encoded: {fault}") from fault


def size_of(determinant: Determinant) -> int:
    """How many bytes it has, tag included."""
    return _SIZES.get(type(determinant)) or len(encode(determinant))


def _timer_bytes(timer: TimerTrigger) -> bytes:
    if not timer.callback.startswith(INTERNAL_PREFIX):
        return b"\x04" + _TIMER.pack(timer.record_count, timer.timestamp, CALLBACKS.index(timer.callback))
    name = timer.callback.removeprefix(INTERNAL_PREFIX).encode()
    head = _TIMER.pack(timer.record_count, timer.timestamp, INTERNAL_CALLBACK)
    return b"\x04" + head + _INT32.pack(len(name)) + name


def _source_checkpoint_bytes(one: SourceCheckpoint) -> bytes:
    fixed = _SOURCE_CHECKPOINT.pack(
        one.record_count,
        one.checkpoint,
        one.timestamp,
        CHECKPOINT_TYPES.index(one.checkpoint_type),
        one.storage_ref is not None,
    )
    reference = b"" if one.storage_ref is None else _INT32.pack(len(one.storage_ref)) + one.storage_ref
    return b"\x05" + fixed + reference


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    Order: lambda one: bytes((Order.TAG, one.channel)),
    Timestamp: lambda one: b"\x01" + _INT64.pack(one.value),
    Rng: lambda one: b"\x02" + _INT32.pack(one.value),
    Serializable: lambda one: b"\x03" + one.payload,
    TimerTrigger: _timer_bytes,
    SourceCheckpoint: _source_checkpoint_bytes,
    IgnoreCheckpoint: lambda one: b"\x06" + _IGNORE_CHECKPOINT.pack(one.record_count, one.checkpoint),
    BufferBuilt: lambda one: b"\x07" + _INT32.pack(one.buffer_bytes),
    Take: lambda one: b"\x10" + _TAKE.pack(one.channel, one.first_offset, one.records),
}


_SIZES: dict[type[Determinant], int] = {Order: 2, Timestamp: 9, Rng: 5, IgnoreCheckpoint: 13, BufferBuilt: 5, Take: 17}
"""Of those that always have as many bytes."""


def decode_at(data: bytes, offset: int) -> tuple[Determinant, int]:
    """The determinant that begins at `offset`, and where the next one begins."""
    try:
        decoder = _DECODERS[data[offset]]
        if decoder is not None:
            return decoder(data, offset)
    except (struct.error, IndexError):
        raise _fault(data, offset, _CUT_SHORT) from None
    raise _fault(data, offset, f"unknown determinant tag {data[offset]}")


def decode_all(data: bytes, path: str | None = None) -> Iterator[tuple[int, int, Determinant]]:
    """Every determinant as (offset, length, determinant), up to the end or to the first fault, which is raised."""
    decoders = _DECODERS
    offset, end = 0, len(data)
    try:
        while offset < end:
            decoder = decoders[data[offset]]
            if decoder is None:
                raise _fault(data, offset, f"unknown determinant tag {data[offset]}")
            determinant, after = decoder(data, offset)
            yield offset, after - offset, determinant
            offset = after
    except (struct.error, IndexError):
        raise _fault(data, offset, _CUT_SHORT, path) from None
    except CorruptDeterminant as fault:
        fault.path = path
        raise


def ends_of(data: bytes, path: str | None = None) -> Iterator[int]:
    """Where each determinant ends, as `decode_all` tells it, without making those that always have as many bytes."""
    sizes, offset, end = _SIZE_OF_TAG, 0, len(data)
    while offset < end:
        after = offset + sizes[data[offset]]
        if after == offset or after > end:
            try:
                _, after = decode_at(data, offset)
            except CorruptDeterminant as fault:
                fault.path = path
                raise
        yield after
        offset = after


def _fault(data: bytes, offset: int, why: str, path: str | None = None) -> CorruptDeterminant:
    tag = data[offset] if 0 <= offset < len(data) else None
    return CorruptDeterminant(why, path=path, offset=offset, tag=tag, remedy=_RESUME)


def _counted(data: bytes, offset: int, begin: int, what: str) -> tuple[bytes, int]:
    """The bytes behind an int32 length at `offset`, and where they end; `begin` is where the determinant begins."""
    (length,) = _INT32.unpack_from(data, offset)
    end = offset + 4 + length
    if length < 0:
        raise _fault(data, begin, f"the {what} has a negative length, {length}")
    if end > len(data):
        raise _fault(data, begin, f"the {what} claims {length} bytes, and {len(data) - offset - 4} are left")
    return bytes(data[offset + 4 : end]), end


def _order(data: bytes, offset: int) -> tuple[Determinant, int]:
    return Order(data[offset + 1]), offset + 2


def _timestamp(data: bytes, offset: int) -> tuple[Determinant, int]:
    return Timestamp(_INT64.unpack_from(data, offset + 1)[0]), offset + 9


def _rng(data: bytes, offset: int) -> tuple[Determinant, int]:
    return Rng(_INT32.unpack_from(data, offset + 1)[0]), offset + 5


def _serializable(data: bytes, offset: int) -> tuple[Determinant, int]:
    begin = offset + 1
    if bytes(data[begin : begin + 2]) == SIZED_PAYLOAD_MAGIC:
        if data[begin + 2] > 3:
            raise _fault(data, offset, f"unknown content type {data[begin + 2]} of a serializable")
        _, end = _counted(data, begin + 3, offset, "serializable")
    elif bytes(data[begin : begin + 4]) == JAVA_STREAM_MAGIC:
        try:
            end = end_of_stream(data, begin, len(data))
        except CorruptDeterminant as fault:
            raise _fault(data, offset, fault.why) from None
    elif any(magic.startswith(bytes(data[begin : begin + 4])) for magic in (SIZED_PAYLOAD_MAGIC, JAVA_STREAM_MAGIC)):
        raise _fault(data, offset, _CUT_SHORT)
    else:
        raise _fault(data, offset, "a serializable begins neither with a Java stream's magic nor with CL")
    return Serializable(bytes(data[begin:end])), end


def _timer(data: bytes, offset: int) -> tuple[Determinant, int]:
    record_count, timestamp, callback = _TIMER.unpack_from(data, offset + 1)
    if callback < INTERNAL_CALLBACK:
        return TimerTrigger(record_count, timestamp, CALLBACKS[callback]), offset + 14
    if callback > INTERNAL_CALLBACK:
        raise _fault(data, offset, f"unknown callback type {callback} of a timer trigger")
    name, end = _counted(data, offset + 14, offset, "timer's name")
    try:
        return TimerTrigger(record_count, timestamp, INTERNAL_PREFIX + name.decode()), end
    except UnicodeDecodeError:
        raise _fault(data, offset, "the timer's name is not UTF-8") from None


def _source_checkpoint(data: bytes, offset: int) -> tuple[Determinant, int]:
    record_count, checkpoint, timestamp, checkpoint_type, has_reference = _SOURCE_CHECKPOINT.unpack_from(
        data, offset + 1
    )
    if checkpoint_type >= len(CHECKPOINT_TYPES):
        raise _fault(data, offset, f"unknown checkpoint type {checkpoint_type} of a source checkpoint")
    if has_reference > 1:
        raise _fault(data, offset, f"a source checkpoint's has-reference is {has_reference}, and must be 0 or 1")
    reference, end = None, offset + 23
    if has_reference:
        reference, end = _counted(data, end, offset, "storage reference")
    kind = CHECKPOINT_TYPES[checkpoint_type]
    return SourceCheckpoint(record_count, checkpoint, timestamp, kind, reference), end


def _ignore_checkpoint(data: bytes, offset: int) -> tuple[Determinant, int]:
    return IgnoreCheckpoint(*_IGNORE_CHECKPOINT.unpack_from(data, offset + 1)), offset + 13


def _buffer_built(data: bytes, offset: int) -> tuple[Determinant, int]:
    return BufferBuilt(_INT32.unpack_from(data, offset + 1)[0]), offset + 5


def _take(data: bytes, offset: int) -> tuple[Determinant, int]:
    return Take(*_TAKE.unpack_from(data, offset + 1)), offset + 17


_BY_TAG: dict[int, Decoder] = {
    Order.TAG: _order,
    Timestamp.TAG: _timestamp,
    Rng.TAG: _rng,
    Serializable.TAG: _serializable,
    TimerTrigger.TAG: _timer,
    SourceCheckpoint.TAG: _source_checkpoint,
    IgnoreCheckpoint.TAG: _ignore_checkpoint,
    BufferBuilt.TAG: _buffer_built,
    Take.TAG: _take,
}
_SIZE_OF_TAG = tuple(next((size for one, size in _SIZES.items() if tag == one.TAG), 0) for tag in range(256))
_DECODERS: tuple[Decoder | None, ...] = tuple(_BY_TAG.get(tag) for tag in range(256))
