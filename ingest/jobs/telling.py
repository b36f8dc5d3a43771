"""How far the tasks of an ingest are: each keeps in a file how many bytes it has read, and the driver adds them up."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

WRITE_EVERY_S = 0.1


class BytesRead:
    """What one part has read. Telling costs nothing but a small file now and then; without a folder, nothing."""

    def __init__(self, folder: str | None, name: str) -> None:
        self._path = Path(folder) / name if folder else None
        self._bytes = 0
        self._written_s = 0.0

    def add(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        now_s = time.monotonic()
        if self._path is not None and now_s - self._written_s >= WRITE_EVERY_S:
            self._written_s = now_s
            self._path.write_text(str(self._bytes))


def bytes_read(folder: Path) -> int:
    """Of all parts. A file that is just being written counts as nothing this once."""
    told = [path.read_text() for path in folder.iterdir()] if folder.is_dir() else []
    return sum(int(text) for text in told if text.isdecimal())


def begin(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def end(folder: Path) -> None:
    """The folder lies in the staging folder and is not to be published."""
    shutil.rmtree(folder, ignore_errors=True)
