"""Records out of a channel's byte stream: they span buffers."""

from __future__ import annotations

import json
from struct import Struct

from replay.errors import CorruptMember, ReplayError
from replay.model import Record

_LENGTH = Struct(">i")
_LARGEST_RECORD_BYTES = 64 << 20
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def record_bytes(record: Record) -> bytes:
    """As `Record.to_bytes`, with one encoder for all records."""
    lineage = record.lineage
    fields = [record.key, record.timestamp, record.value]
    body = _encode(fields if lineage is None else [*fields, lineage]).encode()
    return _LENGTH.pack(len(body)) + body


class RecordReader:
    """Puts the slices of one channel's stream together and gives the records that are complete."""

    __slots__ = ("_rest", "channel")

    def __init__(self, channel: str):
        self.channel = channel
        self._rest = b""

    @property
    def partial_bytes(self) -> int:
        """How much of a record is there whose end isn't."""
        return len(self._rest)

    def feed(self, payload: bytes) -> list[Record]:
        """Takes the next slice; returns the records that it completes."""
        data = self._rest + payload if self._rest else payload
        records: list[Record] = []
        at, end = 0, len(data)
        while at + 4 <= end:
            (size,) = _LENGTH.unpack_from(data, at)
            if not 0 <= size <= _LARGEST_RECORD_BYTES:
                raise CorruptMember(
                    f"a record on {self.channel} claims {size} bytes",
                    offset=at,
                    remedy="A buffer before it is damaged or missing",
                )
            if at + 4 + size > end:
                break
            records.append(self._record(data, at, size))
            at += 4 + size
        self._rest = data[at:]
        return records

    def reset(self) -> None:
        """Forgets the record that is half there: the sender begins a new one."""
        self._rest = b""

    def _record(self, data: bytes, at: int, size: int) -> Record:
        try:
            fields = json.loads(data[at + 4 : at + 4 + size])
            if not 3 <= len(fields) <= 4 or type(fields[1]) is not int:
                raise ReplayError("a record is [key, timestamp, value] or [key, timestamp, value, lineage]")
            lineage = tuple((task, offset) for task, offset in fields[3]) if len(fields) == 4 else None
            return Record(fields[0], fields[1], fields[2], lineage)
        except (ValueError, TypeError, RecursionError, ReplayError) as fault:
            raise CorruptMember(
                f"a record on {self.channel} can't be read: {fault}",
                offset=at,
                remedy="A buffer before it is damaged or missing",
            ) from None
