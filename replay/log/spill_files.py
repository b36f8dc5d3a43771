"""The files that spilled buffers are written to: one folder of a run, one file per attempt, channel and epoch."""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from pathlib import Path

from replay.errors import ReplayError

MAX_OPEN = 64
_REMEDY = "Free space in the folder for temporary files, or let the environment's TMPDIR name another one"


class SpillFault(ReplayError):
    """The disk did not take or give back what was spilled."""


class SpillFiles:
    """Appended to and read by place. The folder comes with the first file, and goes with `close`."""

    def __init__(self, parent: Path | None = None):
        """`parent` None is the system's folder for temporary files."""
        self._parent = parent
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._open: OrderedDict[str, int] = OrderedDict()
        self._sizes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """The files that are there."""
        return sorted(self._sizes)

    @property
    def folder(self) -> Path | None:
        """Where they are, as long as there are any."""
        return None if self._folder is None else Path(self._folder.name)

    def append(self, name: str, data: bytes) -> int:
        """Writes at the end of a file, which begins to exist with it; returns where."""
        at = self._sizes.get(name, 0)
        try:
            file, written = self._file(name), 0
            while written < len(data):
                written += os.pwrite(file, data[written:], at + written)
        except OSError as error:
            raise SpillFault(
                f"a spilled buffer can't be written: {error.strerror}", path=name, remedy=_REMEDY
            ) from None
        self._sizes[name] = at + len(data)
        return at

    def read(self, name: str, at: int, size: int) -> bytes:
        """What was written there."""
        try:
            data = os.pread(self._file(name), size, at)
        except OSError as error:
            raise SpillFault(f"a spilled buffer can't be read: {error.strerror}", path=name, remedy=_REMEDY) from None
        if len(data) != size:
            why = f"a spilled buffer is cut short: {len(data)} of {size} bytes are there"
            raise SpillFault(why, path=name, offset=at, remedy=_REMEDY)
        return data

    def drop(self, name: str) -> None:
        """Deletes a file, if it is there."""
        if self._sizes.pop(name, None) is None or self._folder is None:
            return
        if name in self._open:
            os.close(self._open.pop(name))
        os.unlink(os.path.join(self._folder.name, name))

    def close(self) -> None:
        """Deletes everything."""
        while self._open:
            os.close(self._open.popitem()[1])
        self._sizes.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _file(self, name: str) -> int:
        # Only so many stay open: a job has more channels and epochs than a process may have files.
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name]
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="clonoscope-spill-", dir=self._parent)
        if len(self._open) >= MAX_OPEN:
            os.close(self._open.popitem(last=False)[1])
        file = self._open[name] = os.open(os.path.join(self._folder.name, name), os.O_RDWR | os.O_CREAT, 0o600)
        return file
