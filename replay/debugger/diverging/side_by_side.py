"""Puts the record that a replay made beside the one that the recording holds at the same place of an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.debugger.diverging.probe import Again
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers
from replay.errors import ReplayError
from replay.model import Record, json_bytes

_HELD_BYTES = 1 << 20
_MOST_RECORDS = 64
_SHOWN = 400


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`held` None: what the recording holds there can't be read as a record."""

    made: list[Any]
    held: list[Any] | None
    element: str
    after: int
    same_in_another_order: bool = False
    bits: int | None = None
    source_offset: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As an outcome's detail carries it."""
        held = None if self.held is None else json_bytes(self.held).decode()[:_SHOWN]
        return {"asked_record": json_bytes(self.made).decode()[:_SHOWN], "logged_record": held}


def beside(source: RecordingSource, task: str, attempt: int, again: Again, byte: int, buffer: int) -> SideBySide | None:
    """The records that cover that byte of the buffer which differs; None where the replay wrote no record there."""
    if again.probe.cut_last is None:
        return None
    k, cut = again.probe.cut_last
    written = again.probe.writer_of(k, byte)
    if not written or written[0].code is None:
        return None
    first = written[0]
    into = again.probe.starts[k] + byte - first.start  # how far into the record the difference lies
    held = _held_from(source, task, attempt, k, buffer, byte)
    if held is None:
        return None
    # Of the same element: what others are made of comes in the order in which they were taken.
    made = [_fields(one.data) for one in written if one.code is not None and one.after == first.after]
    recorded = _records(first.data[:into] + held)
    ours = next((one for one in made if one is not None), None)
    if ours is None:
        return None
    return SideBySide(
        ours,
        recorded[0] if recorded else None,
        first.element,
        first.after,
        _permuted([one for one in made if one is not None], recorded),
        _bits_between(cut.payload, source, task, attempt, k, buffer),
        _source_offset(task, first.data),
    )


def _held_from(source: RecordingSource, task: str, attempt: int, k: int, buffer: int, byte: int) -> bytes | None:
    """The recorded stream from that byte on, to the next event."""
    found: bytearray | None = None
    for placed in placed_buffers(source, task, attempt, k):
        frame = placed.frame
        if frame.seq < buffer:
            continue
        if found is None:
            if frame.seq != buffer:
                return None
            found = bytearray(frame.payload[byte:])
        elif frame.is_event or len(found) > _HELD_BYTES:
            break
        else:
            found += frame.payload
    return None if found is None else bytes(found)


def _records(stream: bytes) -> list[list[Any]]:
    """The records that a stream begins with, up to what is none."""
    found: list[list[Any]] = []
    at = 0
    while at + 4 <= len(stream) and len(found) < _MOST_RECORDS:
        size = int.from_bytes(stream[at : at + 4], "big", signed=True)
        if size < 0 or at + 4 + size > len(stream):
            break
        fields = _fields(stream[at : at + 4 + size])
        if fields is None:
            break
        found.append(fields)
        at += 4 + size
    return found


def _fields(data: bytes) -> list[Any] | None:
    try:
        record = Record.from_body(data[4:])
    except ReplayError:
        return None
    return [record.key, record.timestamp, record.value]


def _permuted(made: list[list[Any]], held: list[list[Any]]) -> bool:
    """Whether both hold the same things in another order: within one record, or over some of them."""
    if not made or not held:
        return False
    if made[0] != held[0] and _sorted(made[0]) == _sorted(held[0]):
        return True
    for size in range(2, min(len(made), len(held)) + 1):
        ours, theirs = made[:size], held[:size]
        if ours != theirs and sorted(map(json_bytes, ours)) == sorted(map(json_bytes, theirs)):
            return True
    return False


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((_sorted(one) for one in value), key=json_bytes)
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, str) and not value.isalnum() and len(value) <= _SHOWN:
        return sorted(value)  # joined text, whatever it is joined with
    return value


def _source_offset(task: str, data: bytes) -> int | None:
    """Which record of this very source it came from."""
    try:
        lineage = Record.from_body(data[4:]).lineage or ()
    except ReplayError:
        return None
    return next((offset for one, offset in lineage if one == task), None)


def _bits_between(payload: bytes, source: RecordingSource, task: str, attempt: int, k: int, buffer: int) -> int | None:
    """In how many bits two buffers of one size differ; None where their sizes do."""
    held = next((one.frame for one in placed_buffers(source, task, attempt, k) if one.frame.seq == buffer), None)
    if held is None or len(held.payload) != len(payload):
        return None
    return sum((one ^ other).bit_count() for one, other in zip(payload, held.payload, strict=True))
