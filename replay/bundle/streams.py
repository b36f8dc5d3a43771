"""Byte streams read front to back with bounded memory, that know how many packed bytes they have used."""

from __future__ import annotations

import os
import zlib
from typing import Any, BinaryIO, Protocol

from replay.errors import BundleError

CHUNK_BYTES = 1 << 16
_TRUNCATED = "Copy the file again: its end is missing"
_DAMAGED = "Copy the file again: it was damaged"
# One such piece unpacks to 8 MiB at the very most.
_ZSTD_FEED_BYTES = 1 << 8
_ZSTD_WINDOW_BYTES = 1 << 27


class PackedStream(Protocol):
    """A stream that counts what it has used of the file, for the ratio's sake."""

    used_bytes: int

    @property
    def left_bytes(self) -> int:
        """What of the file is not used yet."""
        ...

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...

    def close(self) -> None:
        """Lets go of the file."""
        ...


class _FileStream:
    """What all of them share: the file and the count."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self.used_bytes = 0
        self._file_bytes = os.fstat(file.fileno()).st_size

    @property
    def left_bytes(self) -> int:
        """What of the file is not used yet."""
        return self._file_bytes - self.used_bytes

    def close(self) -> None:
        """Lets go of the file."""
        self.file.close()


class PlainStream(_FileStream):
    """A file as it is."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        data = self.file.read(min(size, CHUNK_BYTES))
        self.used_bytes += len(data)
        return data


class GzipStream(_FileStream):
    """The gzip members of a file, one after the other; nothing else may follow but zeros."""

    def __init__(self, file: BinaryIO, *, path: str):
        super().__init__(file)
        self.path = path
        self._packed = b""
        self._inflater = zlib.decompressobj(wbits=31)

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        while True:
            if not self._packed:
                self._packed = self.file.read(CHUNK_BYTES)
                if not self._packed:
                    return self._at_end()
            data = self._inflate(min(size, CHUNK_BYTES))
            if self._inflater.eof and not self._next_member():
                return data
            if data:
                return data

    def _inflate(self, size: int) -> bytes:
        before = len(self._packed)
        try:
            data = self._inflater.decompress(self._packed, size)
        except zlib.error as fault:
            raise BundleError(
                f"the gzip stream is damaged: {fault}", path=self.path, offset=self.used_bytes, remedy=_DAMAGED
            ) from None
        self._packed = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
        self.used_bytes += before - len(self._packed)
        return data

    def _next_member(self) -> bool:
        """After a gzip member: another one follows, or only zeros to the end."""
        if not self._packed:
            self._packed = self.file.read(CHUNK_BYTES)
        if self._packed[:1] == b"\x1f":
            self._inflater = zlib.decompressobj(wbits=31)
            return True
        while self._packed:
            if self._packed.strip(b"\0"):
                raise BundleError(
                    "something follows the end of the gzip stream",
                    path=self.path,
                    offset=self.used_bytes,
                    remedy=_DAMAGED,
                )
            self.used_bytes += len(self._packed)
            self._packed = self.file.read(CHUNK_BYTES)
        return False

    def _at_end(self) -> bytes:
        if not self._inflater.eof:
            raise BundleError("the gzip stream is cut short", path=self.path, offset=self.used_bytes, remedy=_TRUNCATED)
        return b""


class ZstdStream(_FileStream):
    """The zstandard frames of a file. Fed in small pieces, since one piece may unpack to very much."""

    def __init__(self, file: BinaryIO, *, path: str):
        try:
            import zstandard
        except ImportError:
            raise BundleError(
                "zstandard is not installed, so a .tar.zst cannot be read",
                path=path,
                remedy="Install the Python package zstandard, or pack the bundle as .tar.gz",
            ) from None
        super().__init__(file)
        self.path = path
        self._error: type[Exception] = zstandard.ZstdError
        self._decompressor: Any = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        while not self._ready:
            if not self._packed:
                self._packed = self.file.read(CHUNK_BYTES)
                if not self._packed:
                    return self._at_end()
            self._ready = memoryview(self._unpack())
        data, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return data

    def _unpack(self) -> bytes:
        piece, self._packed = self._packed[:_ZSTD_FEED_BYTES], self._packed[_ZSTD_FEED_BYTES:]
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        try:
            data = bytes(self._frame.decompress(piece))
        except self._error as fault:
            raise BundleError(
                f"the zstandard stream is damaged: {fault}", path=self.path, offset=self.used_bytes, remedy=_DAMAGED
            ) from None
        self.used_bytes += len(piece)
        if self._frame.eof:
            rest = self._frame.unused_data
            self.used_bytes -= len(rest)
            self._packed = rest + self._packed
            self._frame = None
        return data

    def _at_end(self) -> bytes:
        if self._frame is not None:
            raise BundleError(
                "the zstandard stream is cut short", path=self.path, offset=self.used_bytes, remedy=_TRUNCATED
            )
        return b""
