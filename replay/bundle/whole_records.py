"""A recording that still goes on, or was broken off: its members up to the last record that is there as a whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from replay.bundle.frames import read_buffers, read_receipts, read_sendings
from replay.bundle.lines import read_object
from replay.bundle.reader import Members
from replay.errors import CorruptDeterminant, CorruptMember
from replay.log.codec import ends_of

_FRAMES: dict[str, Callable[[BinaryIO], Iterator[tuple[int, object]]]] = {
    "buf": lambda stream: read_buffers(stream, epoch=0),
    "dlt": read_sendings,
    "rcv": read_receipts,
}
_TORN = ("cut short", "are left")
"""How a fault is told where a record goes past the end of its member."""
_TAIL_BYTES = 1 << 16


class WholeRecords:
    """The same members, without what was being written when the recording was looked at."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._sizes: dict[str, int] = {}

    def names(self, prefix: str = "") -> Iterator[str]:
        """The members whose names begin so, in order; a snapshot that is torn is none yet."""
        return (name for name in self._members.names(prefix) if name in self)

    def __contains__(self, name: object) -> bool:
        return name in self._members and not (_is_snapshot(name) and self.size(cast(str, name)) == 0)

    def size(self, name: str) -> int:
        """The member's size in bytes, up to there."""
        if name not in self._sizes:
            self._sizes[name] = self._whole_bytes(name)
        return self._sizes[name]

    def read(self, name: str) -> bytes:
        """The member's bytes, up to there."""
        return self._members.read(name)[: self.size(name)]

    def open(self, name: str) -> BinaryIO:
        """The member as a stream that can seek, up to there."""
        if self.size(name) == self._members.size(name):
            return self._members.open(name)
        return io.BytesIO(self.read(name))

    def digest(self, name: str) -> bytes:
        """The SHA-256 of the member as it is."""
        return self._members.digest(name)

    def close(self) -> None:
        """Lets go of the files."""
        self._members.close()

    def _whole_bytes(self, name: str) -> int:
        size = self._members.size(name)
        with self._members.open(name) as stream:
            return whole_bytes(name, stream, size)


def whole_bytes(name: str, stream: BinaryIO, size: int) -> int:
    """How many of a member's bytes, or of those from a record on, are whole records."""
    suffix = name.rpartition(".")[2]
    if suffix == "ndjson":
        return _whole_lines(stream, size)
    if suffix == "det":
        return _until_torn(ends_of(stream.read()), size)
    if suffix in _FRAMES:
        return _until_torn(_FRAMES[suffix](stream), size)
    if _is_snapshot(name):
        try:
            read_object(stream.read(), name)
        except CorruptMember:
            return 0
    return size


def _whole_lines(stream: BinaryIO, size: int) -> int:
    """A line is whole once its end is there."""
    end = size
    while end:
        begin = max(0, end - _TAIL_BYTES)
        stream.seek(begin)
        at = stream.read(end - begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0


def _until_torn(records: Iterator[object], size: int) -> int:
    """What is damaged and not torn is left for those who read it."""
    try:
        for _ in records:
            pass
    except (CorruptDeterminant, CorruptMember) as fault:
        torn = any(words in fault.why for words in _TORN)
        return fault.offset if torn and fault.offset is not None else size
    return size


def _is_snapshot(name: object) -> bool:
    return isinstance(name, str) and name.endswith(".json") and "/state/" in name
