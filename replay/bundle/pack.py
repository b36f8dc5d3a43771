"""The store's form of a bundle: all members in one file behind an index, so that hostile names never name files."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import struct
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from replay.bundle.container import Container, Readable
from replay.bundle.content import content_id_of, manifest_digest
from replay.bundle.limits import SPLIT, Limits
from replay.bundle.members import MANIFEST
from replay.errors import BundleError, NoManifest, ReplayError

PACK_MAGIC = b"CLPACK1\n"
GROWING_MAGIC = b"CLPACKG\n"
"""Of a pack that still grows: only the index, beside a file of members' bytes that is appended to."""
_ROW = struct.Struct(">QIQQ32s")
_TAIL = struct.Struct(">QQQ32s8s")
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PackSummary:
    """What was packed."""

    content_id: str
    members: int
    bytes: int


def write_pack(
    container: Container,
    out: Path | str,
    limits: Limits | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    admit: Callable[[int], None] | None = None,
) -> PackSummary:
    """Reads the container once, front to back, and publishes the pack by one rename; a refused one leaves nothing.

    `progress` is told how many bytes were unpacked so far, and `admit`, before each member, how many it will be with
    it; what they raise ends the packing.
    """
    out = Path(out)
    with storing(out.name):
        handle, part = tempfile.mkstemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent)
        try:
            with os.fdopen(handle, "w+b") as file:
                summary = pack_into(container, file, limits or Limits(), progress, admit)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, out)
        except BaseException:
            os.unlink(part)
            raise
    return summary


@contextmanager
def storing(path: str) -> Iterator[None]:
    """Says in one sentence why a bundle could not be written."""
    try:
        yield
    except OSError as fault:
        raise ReplayError(
            f"the bundle could not be stored: {fault.strerror or fault}", path=path, remedy="Make room and try again"
        ) from fault


def pack_into(
    container: Container,
    file: IO[bytes],
    limits: Limits,
    progress: Callable[[int], None] | None = None,
    admit: Callable[[int], None] | None = None,
) -> PackSummary:
    """Writes the pack to an open file, at its beginning."""
    index = IndexBuilder()
    file.write(PACK_MAGIC)
    total = len(PACK_MAGIC)
    for name, declared, stream in container.members():
        if admit is not None:
            admit(total - len(PACK_MAGIC) + declared)
        size, digest = _copy(name, stream, file, limits)
        index.add(name, total, size, digest)
        total += size
        if total > limits.max_bytes:
            raise BundleError(
                f"with this member the bundle unpacks to more than {limits.max_bytes} bytes",
                path=name,
                remedy=SPLIT,
            )
        if progress is not None:
            progress(total)
    if MANIFEST not in index.names:
        raise missing_manifest(index.names)
    ordered = sorted(index.names)
    content_id = content_id_of((name, index.digest(name)) for name in ordered)
    index.write(file, total, ordered, bytes.fromhex(content_id))
    return PackSummary(content_id, len(ordered), total - len(PACK_MAGIC))


def _copy(name: str, stream: Readable, file: IO[bytes], limits: Limits) -> tuple[int, bytes]:
    """Copies a member; returns its size and digest."""
    if name == MANIFEST:
        data = stream.read(limits.max_manifest_bytes + 1)
        while more := stream.read(limits.max_manifest_bytes + 1 - len(data)):
            data += more
        limits.check_size(name, len(data))
        file.write(data)
        return len(data), manifest_digest(data)
    digest, size = hashlib.sha256(), 0
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
        file.write(chunk)
        size += len(chunk)
    return size, digest.digest()


def missing_manifest(names: object) -> BundleError:
    """There is no job.json at the top; where there is one deeper, says so."""
    nested = (
        next((one for one in names if str(one).endswith(f"/{MANIFEST}")), None) if isinstance(names, dict) else None
    )
    if nested is None:
        missing = NoManifest("there is no manifest", path=MANIFEST, remedy="A bundle has its job.json at the top")
        missing.members = tuple(map(str, names)) if isinstance(names, dict) else ()
        return missing
    folder = nested.removesuffix(f"/{MANIFEST}")
    return BundleError(
        f"the manifest lies in the folder {folder} and not at the top", path=nested, remedy="Pack the folder's content"
    )


def data_path(pack: Path | str) -> Path:
    """Where the bytes of a growing pack's members lie."""
    return Path(pack).with_suffix(".data")


class IndexBuilder:
    """Collects the index in little memory, for bundles of a million members."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._offsets = array("Q")
        self._sizes = array("Q")
        self._digests = bytearray()

    def add(self, name: str, offset: int, size: int, digest: bytes) -> None:
        self.names[name] = len(self._offsets)
        self._offsets.append(offset)
        self._sizes.append(size)
        self._digests += digest

    def digest(self, name: str) -> bytes:
        i = self.names[name]
        return bytes(self._digests[32 * i : 32 * i + 32])

    def write(
        self, file: IO[bytes], begin: int, ordered: list[str], content_id: bytes, magic: bytes = PACK_MAGIC
    ) -> None:
        """Names, rows and tail, at `begin` of the file, where it stands."""
        at = begin
        for name in ordered:
            file.write(name.encode())
        for name in ordered:
            i, length = self.names[name], len(name.encode())
            file.write(_ROW.pack(at, length, self._offsets[i], self._sizes[i], self.digest(name)))
            at += length
        file.write(_TAIL.pack(begin, at, len(ordered), content_id, magic))


class Ranges(Protocol):
    """The bytes of a pack by slices, as of a file that is mapped, wherever they lie."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...

    def close(self) -> None:
        """Lets go of them."""
        ...


class Pack:
    """Reads members of a pack by name, in any order."""

    _map: Ranges
    _file: BinaryIO | None
    _data: BinaryIO | None

    def __init__(self, path: Path | str | BinaryIO):
        self.path = str(path) if isinstance(path, (str, Path)) else "pack"
        while True:
            file: BinaryIO = open(path, "rb") if isinstance(path, (str, Path)) else path  # noqa: SIM115
            try:
                self._file, self._map = file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self.growing = self._read_tail()
                self._data = open(data_path(self.path), "rb") if self.growing else file  # noqa: SIM115
                return
            except (ValueError, struct.error):
                file.close()
                raise self._damaged() from None
            except FileNotFoundError:
                file.close()
                if is_growing(self.path):
                    raise BundleError(
                        "the bytes of the stored bundle are gone",
                        path=str(data_path(self.path)),
                        remedy="Ingest it anew",
                    ) from None
                # It stopped growing between the two looks, and is one file by now.

    @classmethod
    def by_ranges(cls, ranges: Ranges, path: str) -> Pack:
        """One that is no file of this machine; what grows is one."""
        pack = cls.__new__(cls)
        pack.path, pack._map, pack._file, pack._data = path, ranges, None, None
        try:
            pack.growing = pack._read_tail()
            if pack.growing:
                raise ValueError("its members lie elsewhere")
        except (ValueError, struct.error):
            ranges.close()
            raise pack._damaged() from None
        return pack

    def _damaged(self) -> BundleError:
        return BundleError("the stored bundle is damaged", path=self.path, remedy="Upload it again")

    def _read_tail(self) -> bool:
        """Whether it is one that grows."""
        end = len(self._map)
        tail: tuple[int, int, int, bytes, bytes] = _TAIL.unpack(self._map[max(0, end - _TAIL.size) : end])
        self._names_at, self._rows_at, self._count, content_id, magic = tail
        rows_end = self._rows_at + self._count * _ROW.size
        known = magic in (PACK_MAGIC, GROWING_MAGIC)
        if not known or not self._names_at <= self._rows_at or rows_end + _TAIL.size != end:
            raise ValueError("the tail contradicts the file")
        self.content_id = content_id.hex()
        self._names = _Names(self._map, self._rows_at, self._count)
        return magic == GROWING_MAGIC

    def read_at(self, offset: int, size: int) -> bytes:
        """Of what members' extents are of, at most so many bytes."""
        if self._data is None:
            return self._map[offset : offset + size]
        return os.pread(self._data.fileno(), size, offset)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    @property
    def unpacked_bytes(self) -> int:
        """The bytes of all members."""
        if self._data is self._file:
            return self._names_at - len(PACK_MAGIC)
        return sum(size for _, _, size in self.extents())

    def names(self, prefix: str = "") -> Iterator[str]:
        """The members whose names begin so, in order."""
        for i in range(bisect_left(self._names, prefix.encode()), self._count):
            name = self._names[i].decode()
            if not name.startswith(prefix):
                return
            yield name

    def extents(self) -> Iterator[tuple[str, int, int]]:
        """All members in order, and where in the file each stands: (name, offset, length)."""
        for i in range(self._count):
            at, length, offset, size, _ = self._row(i)
            yield self._map[at : at + length].decode(), offset, size

    def size(self, name: str) -> int:
        """The member's size in bytes."""
        return self.extent(name)[1]

    def extent(self, name: str) -> tuple[int, int]:
        """Where in the file the member stands: (offset, length)."""
        i = self._find(name)
        if i is None:
            raise BundleError("the bundle has no such member", path=name)
        _, _, offset, size, _ = self._row(i)
        return offset, size

    def digest(self, name: str) -> bytes:
        """The member's SHA-256; the manifest's is that of its content id."""
        i = self._find(name)
        if i is None:
            raise BundleError("the bundle has no such member", path=name)
        return bytes(self._row(i)[4])

    def read(self, name: str) -> bytes:
        """The member's bytes."""
        if self._data is self._file:
            offset, size = self.extent(name)
            return self._map[offset : offset + size]
        with self.open(name) as stream:
            return stream.read()

    def open(self, name: str) -> BinaryIO:
        """The member as a stream that can seek."""
        return io.BufferedReader(_Extent(self.read_at, *self.extent(name)), _CHUNK_BYTES >> 4)

    def changed(self) -> str | None:
        """The first member, as they stand in the file, whose bytes are not those that were stored; reads all."""
        placed = sorted((offset, size, name) for name, offset, size in self.extents())
        return next((name for offset, size, name in placed if self._is_changed(name, offset, size)), None)

    def _is_changed(self, name: str, offset: int, size: int) -> bool:
        if name == MANIFEST:
            return manifest_digest(self.read_at(offset, size)) != self.digest(name)
        digest = hashlib.sha256()
        for at in range(offset, offset + size, _CHUNK_BYTES):
            digest.update(self.read_at(at, min(_CHUNK_BYTES, offset + size - at)))
        return digest.digest() != self.digest(name)

    def whole_content_id(self) -> str:
        """What its index comes to; in a pack that is whole, `content_id`."""
        return content_id_of((name, self.digest(name)) for name in self.names())

    def close(self) -> None:
        """Lets go of the file."""
        self._map.close()
        for file in (self._data, self._file):
            if file is not None:
                file.close()

    def _row(self, i: int) -> tuple[int, int, int, int, bytes]:
        return _row_at(self._map, self._rows_at, i)

    def _find(self, name: str) -> int | None:
        raw = name.encode("utf-8", "surrogatepass")
        i = bisect_left(self._names, raw)
        return i if i < self._count and self._names[i] == raw else None


def is_growing(path: Path | str) -> bool:
    """Whether the pack's members lie in a file beside it."""
    with open(path, "rb") as file:
        return file.read(len(GROWING_MAGIC)) == GROWING_MAGIC


def _row_at(data: Ranges, rows_at: int, i: int) -> tuple[int, int, int, int, bytes]:
    begin = rows_at + i * _ROW.size
    return _ROW.unpack(data[begin : begin + _ROW.size])


class _Names(Sequence[bytes]):
    """The sorted names, read from the file where they are asked for. Order of UTF-8 is order of code points."""

    def __init__(self, data: Ranges, rows_at: int, count: int):
        self._data, self._rows_at, self._count = data, rows_at, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> bytes:  # type: ignore[override]
        at, length, _, _, _ = _row_at(self._data, self._rows_at, i)
        return self._data[at : at + length]


class _Extent(io.RawIOBase):
    """A part of a file as a stream of its own; shares no position with others."""

    def __init__(self, read: Callable[[int, int], bytes], offset: int, size: int):
        super().__init__()
        self._read, self._offset, self._size, self._at = read, offset, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, to: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + to)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, target: memoryview, /) -> int:  # type: ignore[override]
        wanted = max(0, min(len(target), self._size - self._at))
        data = self._read(self._offset + self._at, wanted)
        target[: len(data)] = data
        self._at += len(data)
        return len(data)
