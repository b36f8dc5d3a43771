"""Reads a zip by its central directory, and believes it only where the local headers say the same."""

from __future__ import annotations

import mmap
import stat
import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from replay.bundle.container import Container, Readable
from replay.bundle.limits import SPLIT, Limits
from replay.bundle.names import NameBook, refusal
from replay.bundle.streams import CHUNK_BYTES
from replay.errors import BundleError

_END = struct.Struct("<4s4H2IH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")
_EXTRA = struct.Struct("<2H")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _SIZES_FOLLOW = 0x2041, 0x0008
_ZIP64_EXTRA = 0x0001
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_COPY = "Copy the file again: it was damaged or its end is missing"
_PACK = "Pack the bundle again with an ordinary zip"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What both headers say of one member."""

    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed_bytes: int
    unpacked_bytes: int
    local_at: int
    mode: int
    next_at: int

    @property
    def is_folder(self) -> bool:
        return self.raw_name.endswith(b"/")


class ZipArchive(Container):
    """The members of a zip, in the order of their places in the file."""

    kind = "zip"

    def __init__(self, file: BinaryIO, limits: Limits, *, path: str):
        self.path = path
        self._file = file
        self._limits = limits
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def members(self) -> Iterator[tuple[str, int, Readable]]:
        """Every file as (name, size, stream)."""
        central_at, central_end, count = self._central_directory()
        book, total, free_at = NameBook(self._limits), 0, 0
        for at in self._positions(central_at, central_end, count):
            entry = self._entry(at, central_end)
            self._check_kind(entry)
            data_at = self._data_at(entry)
            if entry.local_at < free_at or data_at + entry.packed_bytes > central_at:
                raise refusal(entry.raw_name, "the member overlaps another part of the archive")
            free_at = data_at + entry.packed_bytes
            if entry.is_folder:
                book.admit_folder(entry.raw_name)
                continue
            name = book.admit_file(entry.raw_name)
            total += entry.unpacked_bytes
            self._check_bounds(name, entry, total)
            member = _Member(self._map, name, entry, data_at)
            yield name, entry.unpacked_bytes, member
            member.finish()

    def close(self) -> None:
        """Lets go of the file."""
        self._map.close()
        self._file.close()

    def _fault(self, why: str, offset: int, remedy: str = _COPY) -> BundleError:
        return BundleError(why, path=self.path, offset=offset, remedy=remedy)

    def _unpack(self, form: struct.Struct, at: int, magic: bytes, what: str) -> tuple[int, ...]:
        if at < 0 or at + form.size > len(self._map) or self._map[at : at + 4] != magic:
            raise self._fault(f"there is no {what} where one must be", max(0, at))
        return form.unpack_from(self._map, at)

    def _central_directory(self) -> tuple[int, int, int]:
        """Where the central directory begins and ends, and how many entries it has."""
        end_at = self._end_at()
        _, disk, first_disk, here, count, size, begin, _ = self._unpack(_END, end_at, b"PK\x05\x06", "end record")
        if disk or first_disk or here != count:
            raise self._fault("the archive is split over several files", end_at, _PACK)
        if _FULL16 in (count, here) or _FULL32 in (size, begin):
            size, begin, count, end_at = self._central_directory64(end_at, (size, begin, count))
        if begin + size != end_at:
            raise self._fault("the central directory is not where the end record says", end_at)
        if count > self._limits.max_members:
            raise self._fault(f"the archive claims {count} members", end_at, SPLIT)
        return begin, end_at, count

    def _end_at(self) -> int:
        lowest = max(0, len(self._map) - _END.size - _FULL16)
        at = self._map.rfind(b"PK\x05\x06", lowest)
        while at >= 0:
            tail = self._map[at : at + _END.size]
            if len(tail) == _END.size and at + _END.size + _END.unpack(tail)[-1] == len(self._map):
                return at
            at = self._map.rfind(b"PK\x05\x06", lowest, at)
        raise self._fault("the archive is cut short, or something follows its end", len(self._map))

    def _central_directory64(self, end_at: int, plain: tuple[int, int, int]) -> tuple[int, int, int, int]:
        locator_at = end_at - _END64_LOCATOR.size
        if locator_at < 0 or self._map[locator_at : locator_at + 4] != b"PK\x06\x07":
            return (*plain, end_at)  # exactly 65,535 members need no zip64
        _, _, record_at, _ = _END64_LOCATOR.unpack_from(self._map, locator_at)
        found = self._unpack(_END64, record_at, b"PK\x06\x06", "zip64 end record")
        here, count, size, begin = found[6:10]
        if here != count or record_at + 12 + found[1] != locator_at:
            raise self._fault("the zip64 end record contradicts itself", record_at)
        return size, begin, count, record_at

    def _positions(self, begin: int, end: int, count: int) -> array[int]:
        """Where the central entries stand, in the order of the members' places in the file."""
        positions, places = array("Q"), array("Q")
        at = begin
        while at < end:
            entry = self._entry(at, end)
            positions.append(at)
            places.append(entry.local_at)
            at = entry.next_at
        if len(positions) != count:
            raise self._fault(f"the end record counts {count} members, and there are {len(positions)}", end)
        if all(a < b for a, b in pairwise(places)):
            return positions
        return array("Q", (positions[i] for i in sorted(range(count), key=places.__getitem__)))

    def _entry(self, at: int, end: int) -> _Entry:
        found = self._unpack(_CENTRAL, at, b"PK\x01\x02", "central directory entry")
        _, _, _, flags, method, _, _, crc, packed, unpacked, n_name, n_extra, n_comment, disk, _, mode, local_at = found
        name_at = at + _CENTRAL.size
        extra_at = name_at + n_name
        next_at = extra_at + n_extra + n_comment
        if next_at > end:
            raise self._fault("a central directory entry is cut short", at)
        extra = self._map[extra_at : extra_at + n_extra]
        unpacked, packed, local_at = self._widened(extra, at, (unpacked, packed, local_at))
        if disk not in (0, _FULL16):
            raise self._fault("the archive is split over several files", at, _PACK)
        raw_name = self._map[name_at:extra_at]
        return _Entry(raw_name, flags, method, crc, packed, unpacked, local_at, mode >> 16, next_at)

    def _widened(self, extra: bytes, at: int, fields: tuple[int, ...]) -> list[int]:
        """The fields, with those that are full taken from the zip64 extra field."""
        if _FULL32 not in fields:
            return list(fields)
        wide = self._zip64_extra(extra, at)
        result = []
        for field in fields:
            if field == _FULL32 and wide is not None:
                if len(wide) < 8:
                    raise self._fault("a zip64 extra field is cut short", at)
                field, wide = int.from_bytes(wide[:8], "little"), wide[8:]
            result.append(field)
        return result

    def _zip64_extra(self, extra: bytes, at: int) -> bytes | None:
        begin = 0
        while begin + _EXTRA.size <= len(extra):
            kind, size = _EXTRA.unpack_from(extra, begin)
            begin += _EXTRA.size
            if begin + size > len(extra):
                raise self._fault("an extra field is cut short", at)
            if kind == _ZIP64_EXTRA:
                return extra[begin : begin + size]
            begin += size
        return None

    def _check_kind(self, entry: _Entry) -> None:
        if entry.flags & _ENCRYPTED:
            raise refusal(entry.raw_name, "the member is encrypted")
        if entry.method not in (_STORED, _DEFLATED):
            raise refusal(entry.raw_name, f"compression method {entry.method} is not understood")
        kind = stat.S_IFMT(entry.mode)
        if kind == stat.S_IFLNK:
            raise refusal(entry.raw_name, "the member is a link")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR and not entry.is_folder):
            raise refusal(entry.raw_name, "the member is neither a file nor a folder")
        if entry.is_folder and entry.unpacked_bytes:
            raise refusal(entry.raw_name, "the member is a folder that claims content")
        if entry.method == _STORED and entry.packed_bytes != entry.unpacked_bytes:
            raise refusal(entry.raw_name, "the member is stored, and its two sizes differ")

    def _data_at(self, entry: _Entry) -> int:
        """Where the member's bytes begin; its local header must agree with the central directory."""
        found = self._unpack(_LOCAL, entry.local_at, b"PK\x03\x04", "local header")
        _, _, flags, method, _, _, crc, packed, unpacked, n_name, n_extra = found
        name_at = entry.local_at + _LOCAL.size
        extra_at = name_at + n_name
        agrees = self._map[name_at:extra_at] == entry.raw_name and method == entry.method
        if agrees and not flags & _SIZES_FOLLOW:
            extra = self._map[extra_at : extra_at + n_extra]
            sizes = self._widened(extra, entry.local_at, (unpacked, packed))
            agrees = (crc, *sizes) == (entry.crc, entry.unpacked_bytes, entry.packed_bytes)
        if not agrees or flags & _ENCRYPTED:
            raise refusal(entry.raw_name, "the member's two headers disagree")
        return extra_at + n_extra

    def _check_bounds(self, name: str, entry: _Entry, total: int) -> None:
        self._limits.check_size(name, entry.unpacked_bytes)
        self._limits.check_ratio(name, entry.unpacked_bytes, entry.packed_bytes)
        self._limits.check_archive_ratio(self.path, total, len(self._map))
        if total > self._limits.max_bytes:
            raise self._fault(f"the archive unpacks to more than {self._limits.max_bytes} bytes", 0, SPLIT)


class _Member:
    """One member's content, checked against its declared size and checksum."""

    def __init__(self, data: mmap.mmap, name: str, entry: _Entry, at: int):
        self._map, self._name, self._entry = data, name, entry
        self._at, self._end = at, at + entry.packed_bytes
        self._left = entry.unpacked_bytes
        self._crc = 0
        self._inflater = zlib.decompressobj(wbits=-15) if entry.method == _DEFLATED else None

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""
        if size >= 0:
            return self._some(size)
        pieces = []
        while data := self._some(CHUNK_BYTES):
            pieces.append(data)
        return b"".join(pieces)

    def _some(self, size: int) -> bytes:
        wanted = min(size, self._left, 1 << 20)
        if not wanted:
            return b""
        data = self._inflate(wanted) if self._inflater else self._map[self._at : self._at + wanted]
        if not self._inflater:
            self._at += len(data)
        if not data:
            raise refusal(self._name, f"the member ends {self._left} bytes before its declared size")
        self._left -= len(data)
        self._crc = zlib.crc32(data, self._crc)
        return data

    def _inflate(self, wanted: int) -> bytes:
        inflater = self._inflater
        data = b""
        while inflater and not data and not inflater.eof and self._at < self._end:
            piece = self._map[self._at : min(self._end, self._at + CHUNK_BYTES)]
            try:
                data = inflater.decompress(piece, wanted)
            except zlib.error as fault:
                raise refusal(self._name, f"the member's compressed bytes are damaged ({fault})") from None
            self._at += len(piece) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
            if not data and self._at == self._end:
                data = inflater.decompress(b"", wanted)
                break
        return data

    def finish(self) -> None:
        """Reads what is left, and judges size and checksum now that the whole is known."""
        while self._some(CHUNK_BYTES):
            pass
        if self._inflater and not self._inflater.eof and self._inflate(1):
            raise refusal(self._name, "the member unpacks to more than its declared size")
        if self._inflater and (not self._inflater.eof or self._at != self._end):
            raise refusal(self._name, "the member's compressed bytes do not end where they must")
        if self._crc != self._entry.crc:
            raise refusal(self._name, "the member's checksum is wrong")
