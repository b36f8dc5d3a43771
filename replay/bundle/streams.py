"""Byte streams read front to back with bounded memory, that know how many packed bytes they have used."""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO, Protocol

from replay.errors import BundleError

CHUNK_BYTES = 1 << 16
TRUNCATED = "Copy the file again: its end is missing"
DAMAGED = "Copy the file again: it was damaged"


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


class FileStream:
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


class PlainStream(FileStream):
    """A file as it is."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        data = self.file.read(min(size, CHUNK_BYTES))
        self.used_bytes += len(data)
        return data


class GzipStream(FileStream):
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
                f"the gzip stream is damaged: {fault}", path=self.path, offset=self.used_bytes, remedy=DAMAGED
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
                    remedy=DAMAGED,
                )
            self.used_bytes += len(self._packed)
            self._packed = self.file.read(CHUNK_BYTES)
        return False

    def _at_end(self) -> bytes:
        if not self._inflater.eof:
            raise BundleError("the gzip stream is cut short", path=self.path, offset=self.used_bytes, remedy=TRUNCATED)
        return b""
