"""Opens whatever a bundle comes in: its bytes say what it is, not its suffix. The only module that knows zstandard."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, BinaryIO

from replay.bundle.container import Container, Readable
from replay.bundle.folder import Folder
from replay.bundle.limits import Limits
from replay.bundle.streams import CHUNK_BYTES, DAMAGED, TRUNCATED, FileStream, GzipStream, PlainStream
from replay.bundle.tar_archive import TarArchive, looks_like_tar
from replay.bundle.zip_archive import ZipArchive
from replay.errors import BundleError

__all__ = ["Container", "Limits", "Readable", "open_container"]

_AGE_MAGICS = (b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----")
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16)))
_HEAD_BYTES = 512
# One such piece unpacks to 8 MiB at the very most.
_ZSTD_FEED_BYTES = 1 << 8
_ZSTD_WINDOW_BYTES = 1 << 27
_ZSTD_LEVEL = 3
_NOT_A_BUNDLE = "A bundle is a directory, or that in one .zip, .tar, .tar.gz or .tar.zst"


def open_container(path: Path | str, limits: Limits | None = None) -> Container:
    """A directory, .zip, .tar, .tar.gz or .tar.zst; anything else is refused."""
    path, limits = Path(path), limits or Limits()
    if path.is_dir():
        return Folder(path, limits)
    if not path.is_file():
        why = "this is neither a file nor a directory" if path.exists() else "there is no such file"
        raise BundleError(why, path=str(path), remedy=_NOT_A_BUNDLE)
    file = open(path, "rb")  # noqa: SIM115 - the container owns it
    try:
        return _container_of(file, path.name, limits)
    except BaseException:
        file.close()
        raise


def _container_of(file: BinaryIO, name: str, limits: Limits) -> Container:
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    if head.startswith(_AGE_MAGICS):
        raise BundleError(
            "the file is encrypted", path=name, remedy="No key is kept here: decrypt it first, with clonoscope decrypt"
        )
    if head.startswith(_ZIP_MAGICS):
        return ZipArchive(file, limits, path=name)
    if head.startswith(_GZIP_MAGIC):
        return TarArchive(GzipStream(file, path=name), limits, kind="tar.gz", path=name)
    if head.startswith(_ZSTD_MAGICS):
        return TarArchive(ZstdStream(file, path=name), limits, kind="tar.zst", path=name)
    if looks_like_tar(head):
        return TarArchive(PlainStream(file), limits, kind="tar", path=name)
    why = "the file is empty" if not head else "this is no archive that is understood"
    raise BundleError(why, path=name, offset=0, remedy=_NOT_A_BUNDLE)


class ZstdStream(FileStream):
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
                f"the zstandard stream is damaged: {fault}", path=self.path, offset=self.used_bytes, remedy=DAMAGED
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
                "the zstandard stream is cut short", path=self.path, offset=self.used_bytes, remedy=TRUNCATED
            )
        return b""


def zstandard_writer(file: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """A stream that packs into the file, and leaves it open at its end."""
    import zstandard

    compressor: Any = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
    writer: AbstractContextManager[IO[bytes]] = compressor.stream_writer(file, closefd=False)
    return writer
