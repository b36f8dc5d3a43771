"""Packs a tree into one archive, the same bytes for the same tree."""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from replay.bundle.containers import zstandard_writer

_EPOCH_OF_ZIP = (1980, 1, 1, 0, 0, 0)
_CHUNK_BYTES = 1 << 20


def write_archive(tree: Path, out: Path, suffix: str) -> None:
    """Members in order of their names, with no times, owners or modes of this machine."""
    if suffix == ".zip":
        _write_zip(tree, out)
    else:
        with open(out, "wb") as file, _compressed(file, suffix) as stream:
            _write_tar(tree, stream)


def _files(tree: Path) -> Iterator[tuple[str, Path]]:
    found = [Path(folder) / name for folder, _, names in os.walk(tree) for name in names]
    yield from sorted((path.relative_to(tree).as_posix(), path) for path in found)


def _write_zip(tree: Path, out: Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in _files(tree):
            info = zipfile.ZipInfo(name, _EPOCH_OF_ZIP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            info.file_size = path.stat().st_size
            with open(path, "rb") as source, archive.open(info, "w") as target:
                while chunk := source.read(_CHUNK_BYTES):
                    target.write(chunk)


def _write_tar(tree: Path, stream: IO[bytes]) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, path in _files(tree):
            info = tarfile.TarInfo(name)
            info.size = path.stat().st_size
            with open(path, "rb") as source:
                archive.addfile(info, source)


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
