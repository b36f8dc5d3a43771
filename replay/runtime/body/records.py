"""Records out of a channel's byte stream: they span buffers."""

from __future__ import annotations

from struct import Struct

from replay.errors import CorruptMember, ReplayError
from replay.model import BodyReader, Record

_LENGTH = Struct(">i")
_LARGEST_RECORD_BYTES = 64 << 20
_REMEDY = "A buffer before it is damaged or missing"

record_bytes = Record.to_bytes


class RecordEdges:
    """Follows a stream that is cut anywhere, to know how much of the record that was cut last is still to come."""

    __slots__ = ("_left", "_length")

    def __init__(self) -> None:
        self._left = 0
        self._length = b""

    def feed(self, payload: bytes) -> None:
        """Takes the next slice of the stream."""
        at, end = 0, len(payload)
        while at < end:
            if self._left:
                step = min(self._left, end - at)
                self._left -= step
                at += step
                continue
            known = len(self._length)
            self._length += payload[at : at + _LENGTH.size - known]
            at += len(self._length) - known
            if len(self._length) == _LENGTH.size:
                (self._left,) = _LENGTH.unpack(self._length)
                self._length = b""

    def left(self, ahead: bytes) -> int:
        """How many bytes of that record are still to come, `ahead` being what comes next."""
        if not self._length:
            return self._left
        missing = _LENGTH.size - len(self._length)
        (size,) = _LENGTH.unpack(self._length + ahead[:missing])
        return missing + int(size)


class RecordReader:
    """Puts the slices of one channel's stream together and gives the records that are complete."""

    __slots__ = ("_bodies", "_rest", "channel")

    def __init__(self, channel: str):
        self.channel = channel
        self._rest = b""
        self._bodies = BodyReader()

    @property
    def partial(self) -> bytes:
        """What is there of a record whose end isn't, its length included."""
        return self._rest

    @property
    def partial_bytes(self) -> int:
        """How much that is."""
        return len(self._rest)

    def feed(self, payload: bytes) -> list[Record]:
        """Takes the next slice; returns the records that it completes."""
        data = self._rest + payload if self._rest else payload
        bodies: list[bytes] = []
        length_at, add = _LENGTH.unpack_from, bodies.append
        at, end = 0, len(data)
        while at + 4 <= end:
            (size,) = length_at(data, at)
            if not 0 <= size <= _LARGEST_RECORD_BYTES:
                self._one_by_one(bodies)
                why = f"a record on {self.channel} claims {size} bytes"
                raise CorruptMember(why, offset=at, remedy=_REMEDY)
            after = at + 4 + size
            if after > end:
                break
            add(data[at + 4 : after])
            at = after
        self._rest = data[at:]
        if not bodies:
            return []
        records = self._bodies.read(bodies)
        return self._one_by_one(bodies) if records is None else records

    def reset(self) -> None:
        """Forgets the record that is half there: the sender begins a new one."""
        self._rest = b""

    def _one_by_one(self, bodies: list[bytes]) -> list[Record]:
        records, at = [], 0
        for body in bodies:
            try:
                records.append(Record.from_body(body))
            except ReplayError as fault:
                why = f"a record on {self.channel} can't be read: {fault.why}"
                raise CorruptMember(why, offset=at, remedy=_REMEDY) from None
            at += 4 + len(body)
        return records
