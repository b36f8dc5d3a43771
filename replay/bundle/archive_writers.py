"""Packs members into one archive, the same bytes for the same members, piece by piece as it is asked for."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

from replay.bundle.containers import zstandard_writer
from replay.errors import check

_EPOCH_OF_ZIP = (1980, 1, 1, 0, 0, 0)
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A member to be packed: its name, its size, and how to read it."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]


def write_archive(tree: Path, out: Path, suffix: str) -> None:
    """Files in order of their names, with no times, owners or modes of this machine."""
    with open(out, "wb") as file:
        for piece in archived(_files(tree), suffix):
            file.write(piece)


def archived(members: Iterable[Source], suffix: str) -> Iterator[bytes]:
    """The bytes of a `.zip`, `.tar`, `.tar.gz` or `.tar.zst` of these members, in their order."""
    return _zip_pieces(members) if suffix == ".zip" else _tar_pieces(members, suffix)


def _files(tree: Path) -> Iterator[Source]:
    found = [Path(folder) / name for folder, _, names in os.walk(tree) for name in names]
    for name, path in sorted((path.relative_to(tree).as_posix(), path) for path in found):
        yield Source(name, path.stat().st_size, partial(_reading, path))


def _reading(path: Path) -> BinaryIO:
    return open(path, "rb")


class _Pieces(io.RawIOBase):
    """What was written since it was last asked."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        self._held.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Empty where nothing has come through a compressor yet."""
        held, self._held = self._held, []
        return b"".join(held)


def _zip_pieces(members: Iterable[Source]) -> Iterator[bytes]:
    out = _Pieces()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for one in members:
            info = zipfile.ZipInfo(one.name, _EPOCH_OF_ZIP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            info.file_size = one.size
            with archive.open(info, "w") as target:
                for chunk in _chunks(one):
                    target.write(chunk)
                    yield out.take()
    yield out.take()


def _tar_pieces(members: Iterable[Source], suffix: str) -> Iterator[bytes]:
    out, written = _Pieces(), 0
    with _compressed(out, suffix) as stream:  # type: ignore[arg-type]
        for one in members:
            info = tarfile.TarInfo(one.name)
            info.size = one.size
            header = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            stream.write(header)
            for chunk in _chunks(one):
                stream.write(chunk)
                yield out.take()
            padding = -one.size % tarfile.BLOCKSIZE
            stream.write(bytes(padding))
            written += len(header) + one.size + padding
        ending = 2 * tarfile.BLOCKSIZE
        stream.write(bytes(ending + -(written + ending) % tarfile.RECORDSIZE))
    yield out.take()


def _chunks(one: Source) -> Iterator[bytes]:
    """Exactly as many bytes as were told: a member that changes meanwhile must not shift those behind it."""
    left = one.size
    with one.open() as stream:
        while left:
            chunk = stream.read(min(left, _CHUNK_BYTES))
            check(chunk, f"{one.name} ends {left} bytes before its size")
            left -= len(chunk)
            yield chunk


@contextmanager
def _compressed(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".tar.gz":
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif suffix == ".tar.zst":
        with zstandard_writer(file) as stream:
            yield stream
    else:
        yield file
