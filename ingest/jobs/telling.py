"""How far the tasks of an ingest are: each keeps in a file what it has read, and the driver adds that up."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

WRITE_EVERY_S = 0.1
ENDED = ".ended"


class BytesRead:
    """What one part has read. Telling costs nothing but a small file now and then; without a folder, nothing."""

    def __init__(self, folder: str | None, name: str) -> None:
        self._path = Path(folder) / name if folder else None
        self._bytes = self._rows = 0
        self._written_s = 0.0

    def add(self, size_bytes: int, rows: int = 0) -> None:
        self._bytes += size_bytes
        self._rows += rows
        now_s = time.monotonic()
        if self._path is not None and now_s - self._written_s >= WRITE_EVERY_S:
            self._written_s = now_s
            self._path.write_text(f"{self._bytes} {self._rows}\n")

    def end(self, rows: int) -> None:
        """The part is written: nothing more is told of it."""
        if self._path is not None:
            self._path.with_suffix(ENDED).write_text(f"{self._bytes} {rows}\n")
            self._path.unlink(missing_ok=True)


class Told:
    """What all parts have read, looked up again and again; of those that ended only once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._ended: dict[str, tuple[int, int]] = {}

    def look(self) -> tuple[int, int]:
        """Bytes and rows. What a task had read that is done again may count twice for a while."""
        told = dict(self._ended)
        if self._folder is None or not self._folder.is_dir():
            return 0, 0
        for name in os.listdir(self._folder):
            part, dot, _ = name.partition(ENDED)
            if part in self._ended:
                continue
            told[part] = _told_in(self._folder / name)
            if dot:
                self._ended[part] = told[part]
        return sum(size for size, _ in told.values()), sum(rows for _, rows in told.values())


def _told_in(path: Path) -> tuple[int, int]:
    """A file that is just being written, or taken away, counts as nothing this once."""
    try:
        size, rows = path.read_text().split()
        return int(size), int(rows)
    except (OSError, ValueError):
        return 0, 0


def begin(folder: Path | None) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)


def end(folder: Path | None) -> None:
    """The folder lies in the staging folder and is not to be published."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
