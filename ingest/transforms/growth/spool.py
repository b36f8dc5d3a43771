"""Arrays that stay in memory while they are few, and lie in files of a scratch folder beyond that."""

from __future__ import annotations

import mmap
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

IN_MEMORY_BYTES = 64 << 20
SEGMENT_BYTES = 256 << 20
"""Of a file with many arrays; each is mapped once, as a process may have only so many maps."""

_ALIGNED = 64


@dataclass(slots=True)
class Spool:
    """`folder` is made when it is first needed; whoever gave it takes it away."""

    folder: Path
    kept_bytes: int = 0
    files: list[BinaryIO] = field(default_factory=list)
    heaps: list[Heap] = field(default_factory=list)
    segments: list[mmap.mmap] = field(default_factory=list)
    _file: BinaryIO | None = None
    _at: int = 0
    """Where in the newest segment the next array goes."""

    def keep(self, array: Any) -> Any:
        """The same array, or the same numbers in a file, which are not to be written to."""
        if self.allows(array.nbytes) or not array.nbytes:
            return array
        if self._file is None or self._at + array.nbytes > len(self.segments[-1]):
            self._begin_segment(max(SEGMENT_BYTES, array.nbytes))
        at, file = self._at, self._file
        self._at = -(-(at + array.nbytes) // _ALIGNED) * _ALIGNED
        return _stored(file, self.segments[-1], at, array)

    def allows(self, more_bytes: int) -> bool:
        """Takes these from what may be in memory, if there is so much left."""
        if self.kept_bytes + more_bytes > IN_MEMORY_BYTES:
            return False
        self.kept_bytes += more_bytes
        return True

    def heap(self) -> Heap:
        """One that nothing is in."""
        self.heaps.append(Heap(self))
        return self.heaps[-1]

    def let_go(self) -> None:
        """What was read of files is no longer this process's memory, until it is read again."""
        for one in (*self.segments, *(heap.map for heap in self.heaps if heap.map is not None)):
            one.madvise(mmap.MADV_DONTNEED)

    def new_file(self) -> BinaryIO:
        """Empty, in the folder."""
        self.folder.mkdir(exist_ok=True)
        self.files.append((self.folder / f"{len(self.files)}.bin").open("w+b", buffering=0))
        return self.files[-1]

    def close(self) -> None:
        """Nothing is kept in files any more; what lies there can be looked at as long as somebody does."""
        for one in self.files:
            one.close()

    def _begin_segment(self, size: int) -> None:
        self._file, self._at = self.new_file(), 0
        self._file.truncate(size)  # takes no room on the disk before it is written to
        self.segments.append(_mapped(self._file, size, mmap.ACCESS_READ))


class Heap:
    """Numbers that become more and can be looked at as one array at any time."""

    def __init__(self, spool: Spool) -> None:
        self.map: mmap.mmap | None = None
        self._spool = spool
        self._file: BinaryIO | None = None
        self._numbers = np.zeros(0, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Any) -> None:
        """Behind those that there are."""
        before, self._count = self._count, self._count + len(numbers)
        if self._file is None and self._makes_room():
            self._numbers[before : self._count] = numbers
            return
        if self._file is None:
            self._file = self._spool.new_file()
            _write(self._file, 0, self._numbers[:before])
            self._numbers = np.zeros(0, np.int64)
        _write(self._file, before * self._numbers.itemsize, np.asarray(numbers, np.int64))

    def all(self) -> Any:
        """They are not to be written to."""
        if self._file is not None and len(self._numbers) < self._count:
            size = self._count * self._numbers.itemsize
            # Copied where it is written to, which nobody does: compiled code is compiled once, for arrays like others.
            self.map = _mapped(self._file, size, mmap.ACCESS_COPY)
            self._numbers = np.frombuffer(self.map, np.int64)
        return self._numbers[: self._count]

    def _makes_room(self) -> bool:
        size = len(self._numbers)
        if self._count <= size:
            return True
        more = max(self._count, 2 * size) - size
        if not self._spool.allows(more * self._numbers.itemsize):
            return False
        self._numbers = np.concatenate([self._numbers, np.zeros(more, np.int64)])
        return True


def _mapped(file: BinaryIO, size: int, access: int) -> mmap.mmap:
    found = mmap.mmap(file.fileno(), size, access=access)
    with suppress(OSError):  # a kernel that knows no large pages
        found.madvise(mmap.MADV_NOHUGEPAGE)  # else 2 MiB are this process's memory where 50 KiB are read
    return found


def _stored(file: Any, segment: mmap.mmap, at: int, array: Any) -> Any:
    _write(file, at, array)
    return np.frombuffer(segment, array.dtype, len(array), at)


def _write(file: BinaryIO, at: int, array: Any) -> None:
    """By the file, not the map: a full disk is an error then, not the end of the process."""
    file.seek(at)
    left = memoryview(np.ascontiguousarray(array).view(np.uint8))  # type: ignore[arg-type]
    while left:
        left = left[file.write(left) :]
