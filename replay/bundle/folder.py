"""A bundle that lies as a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from replay.bundle.container import Container, Readable
from replay.bundle.limits import SPLIT, Limits
from replay.bundle.names import NameBook, refusal
from replay.errors import BundleError, printable


class Folder(Container):
    """Walks the tree in the order of names; follows no link."""

    kind = "dir"

    def __init__(self, path: Path, limits: Limits):
        self.path = path
        self.limits = limits

    def members(self) -> Iterator[tuple[str, int, Readable]]:
        """Every file as (name, size, stream)."""
        total = 0
        for name, size in self.walk():
            self.limits.check_size(name, size)
            total += size
            if total > self.limits.max_bytes:
                raise BundleError(
                    f"the bundle has more than {self.limits.max_bytes} bytes", path=str(self.path), remedy=SPLIT
                )
            with self.open(name) as stream:
                yield name, size, stream

    def walk(self) -> Iterator[tuple[str, int]]:
        """Every file as (name, size), without opening it."""
        return ((name, entry.stat(follow_symlinks=False).st_size) for name, entry in self.entries())

    def entries(self) -> Iterator[tuple[str, os.DirEntry[bytes]]]:
        """Every file under its name, without opening it."""
        book = NameBook(self.limits)
        waiting = [os.fsencode(self.path)]
        root_bytes = len(waiting[0].rstrip(b"/")) + 1
        while waiting:
            folder = waiting.pop()
            folders = []
            for entry in self._entries(folder):
                raw = entry.path[root_bytes:]
                if entry.is_symlink():
                    raise refusal(raw, "the member is a link")
                if entry.is_dir(follow_symlinks=False):
                    book.admit_folder(raw)
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield book.admit_file(raw), entry
                else:
                    raise refusal(raw, "the member is neither a file nor a folder")
            waiting.extend(reversed(folders))

    def _entries(self, folder: bytes) -> list[os.DirEntry[bytes]]:
        try:
            with os.scandir(folder) as found:
                return sorted(found, key=lambda entry: entry.name)
        except OSError as fault:
            shown = printable(os.fsdecode(folder))
            raise BundleError(
                f"the folder cannot be read: {fault.strerror}", path=shown, remedy="Look at its rights"
            ) from fault

    def open(self, name: str) -> BinaryIO:
        """The member's bytes; a link that took its place meanwhile is refused."""
        try:
            handle = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as fault:
            raise BundleError(f"the member cannot be opened: {fault.strerror}", path=name) from fault
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise refusal(name, "the member is neither a file nor a folder")
        return os.fdopen(handle, "rb")

    def close(self) -> None:
        """Nothing is held open."""
