"""Segments: files of fixed size that a task's log is written into through memory, and that outlive their writer."""

from __future__ import annotations

import mmap
import os
import threading
import time
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clonoscope.words import (
    H_DROPPED,
    H_END,
    H_ENDED,
    H_MAGIC,
    H_ORDER,
    H_PROGRESS,
    H_SEAL,
    H_WORDS,
    HEADER_WORDS,
    MAGIC,
    MAGICS,
    ORDER_MARK,
    SEALED,
    WORD_BYTES,
    Torn,
    Word,
    read_words,
)

SUFFIX = ".seg"
SEGMENT_BYTES = 256 << 10
_MARK = b"CLNSEG"
NO_WORDS = memoryview(bytearray()).cast("Q")
NO_REALS = memoryview(bytearray()).cast("d")
"""What a log without a segment writes into: every store is refused."""

# Of a segment, for its first entry, which is seldom longer.
_FIRST_READ_BYTES = 4096
# A disk that takes longer than this for a segment is not waited for a second time.
_PATIENCE_S = 0.2


class Segment:
    """A mapped file. `view` is its words, `reals` the same as floats; whoever writes keeps the position."""

    def __init__(self, path: Path, size_bytes: int):
        """Raises `OSError` where there is no room: every block is there before the first store, which could not fail
        but by ending the process."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _reserve(handle, size_bytes)
            self._map = mmap.mmap(handle, size_bytes)
        except BaseException:
            os.unlink(path)
            raise
        finally:
            os.close(handle)
        self.path = path
        self.size_bytes = size_bytes
        self.view = memoryview(self._map).cast("Q")
        self.reals = memoryview(self._map).cast("d")
        self.view[H_WORDS] = size_bytes // WORD_BYTES
        self.view[H_ORDER] = ORDER_MARK
        self.view[H_MAGIC] = MAGIC

    def moved_to(self, path: Path) -> Segment:
        """Under its name; the folder is there. Raises `FileExistsError` where another process has that name."""
        os.link(self.path, path)
        os.unlink(self.path)
        self.path = path
        return self

    def seal(self, end: int) -> None:
        """Nothing is added from here on, and a checksum tells whether all is as it was."""
        self.view[H_END] = end
        self.view[H_SEAL] = SEALED | zlib.crc32(self.view[HEADER_WORDS:end].cast("B"))
        if self.close():
            # Behind the end is nothing, and nobody looks there any more.
            try:
                os.truncate(self.path, end * WORD_BYTES)
                self.size_bytes = end * WORD_BYTES
            except OSError:
                return  # it stays as long as it is, and reads the same

    def sync(self) -> None:
        """What was stored is on the disk when this returns; raises `OSError`."""
        self._map.flush()

    def close(self) -> bool:
        """Lets go of the memory; the file stays. False where somebody looks at it still."""
        self.view.release()
        self.reals.release()
        try:
            self._map.close()
        except BufferError:
            return False
        return True


def _reserve(handle: int, size_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size_bytes)
    else:
        os.write(handle, bytes(size_bytes))


@dataclass(frozen=True, slots=True)
class Held:
    """A segment as it was read. `torn`: why reading stopped before its end, if it did."""

    path: Path
    entries: list[Word]
    torn: list[Torn]
    dropped: int
    progress: int
    sealed: bool
    end: int
    ended: int | None = None


def newer_mark(path: Path) -> str:
    """The mark of a segment that another version of this library has written, and this one can't read; else nothing."""
    with open(path, "rb") as file:
        mark = file.read(WORD_BYTES)
    # As the machine that wrote it has its words.
    mark = mark if mark.startswith(_MARK) else mark[::-1]
    known = mark in [one.to_bytes(WORD_BYTES, "little") for one in MAGICS]
    numbered = mark.startswith(_MARK) and mark.removeprefix(_MARK).isdigit()
    return mark.decode() if numbered and not known else ""


def read_segment(path: Path) -> Held | None:
    """What stands in a segment; None where it is none, or was made and never begun."""
    data = path.read_bytes()
    data = data[: len(data) - len(data) % WORD_BYTES]
    words = array("Q", data)
    if len(words) <= HEADER_WORDS:
        return None
    if words[H_ORDER] != ORDER_MARK:
        words.byteswap()
    if words[H_ORDER] != ORDER_MARK or words[H_MAGIC] not in MAGICS:
        return None
    end, content = min(words[H_WORDS], len(words)), memoryview(data)
    sealed = bool(words[H_SEAL] & SEALED)
    torn: list[Torn] = []
    if sealed:
        end = min(end, words[H_END])
        if zlib.crc32(content[HEADER_WORDS * WORD_BYTES : end * WORD_BYTES]) != words[H_SEAL] & 0xFFFFFFFF:
            torn.append(Torn(HEADER_WORDS, end - HEADER_WORDS, "a segment whose checksum is wrong"))
            return Held(path, _meta_of(words, end, content), torn, words[H_DROPPED], words[H_PROGRESS], sealed, end)
    entries: list[Word] = []
    for one in read_words(words, HEADER_WORDS, end, content):
        if isinstance(one, Torn):
            torn.append(one)
        else:
            entries.append(one)
    ended = words[H_ENDED] - 1 if words[H_ENDED] else None
    return Held(path, entries, torn, words[H_DROPPED], words[H_PROGRESS], sealed, end, ended)


@dataclass(frozen=True, slots=True)
class Rest:
    """Where a log was left to whoever goes on with it: the epoch that ended, and the records that were taken."""

    epoch: int
    taken: int


def rest_of(path: Path) -> Rest | None:
    """What the header of a segment says; None while its epoch is at work, or was when its writer was killed."""
    header = _header_of(path)
    return Rest(header[H_ENDED] - 1, header[H_PROGRESS]) if header and header[H_ENDED] else None


def is_sealed(path: Path) -> bool:
    """Whether nothing is added to it any more."""
    header = _header_of(path)
    return bool(header and header[H_SEAL] & SEALED)


def _header_of(path: Path) -> array[int] | None:
    header = array("Q")
    try:
        with open(path, "rb") as file:
            header.frombytes(file.read(HEADER_WORDS * WORD_BYTES))
    except (OSError, ValueError):
        return None
    whole = len(header) == HEADER_WORDS and header[H_ORDER] == ORDER_MARK and header[H_MAGIC] in MAGICS
    return header if whole else None


def first_entry(path: Path) -> Word | None:
    """The first entry alone, without reading on."""
    with open(path, "rb") as file:
        data = file.read(_FIRST_READ_BYTES)
    words = array("Q", data[: len(data) - len(data) % WORD_BYTES])
    if len(words) > HEADER_WORDS and words[H_ORDER] != ORDER_MARK:
        words.byteswap()
    if len(words) <= HEADER_WORDS or words[H_ORDER] != ORDER_MARK or words[H_MAGIC] not in MAGICS:
        return None
    found = _meta_of(words, len(words), memoryview(data))
    if not found and len(data) == _FIRST_READ_BYTES:
        held = read_segment(path)
        return held.entries[0] if held is not None and held.entries else None
    return found[0] if found else None


def _meta_of(words: array[int], end: int, content: memoryview) -> list[Word]:
    """The first entry, which has a checksum of its own."""
    first: Iterator[Word | Torn] = read_words(words, HEADER_WORDS, end, content)
    return [one for one in (next(first, None),) if isinstance(one, Word)]


def segments_of(folder: Path) -> list[tuple[int, Path]]:
    """Those of an attempt, by number."""
    paths = (path for path in folder.glob(f"*{SUFFIX}") if path.stem.isdecimal())
    return sorted((int(path.stem), path) for path in paths)


class Supply:
    """Makes segments, one ahead of those who need them, so that a task hardly ever waits for the disk.

    `patient`: where it would, it waits, however slow the disk is.
    """

    def __init__(self, folder: Path, size_bytes: int = SEGMENT_BYTES, *, patient: bool = False):
        self._folder = folder
        self._size_bytes = size_bytes
        self._patient = patient
        self._spare: Segment | None = None
        self._wanted = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._made = 0
        self._slow = False
        self._closed = threading.Event()

    def take(self, path: Path, at_least_bytes: int) -> Segment:
        """A segment under that name; raises `OSError` where there is none to be had without waiting for it."""
        with self._lock:
            if at_least_bytes > self._size_bytes:
                return self._make_now(path, at_least_bytes)
            spare, self._spare = self._spare, None
            self._wanted.set()
            if spare is not None:
                return spare.moved_to(path)
            if self._slow and not self._patient:
                raise OSError("the disk is too slow to be waited for")
            return self._make_now(path, self._size_bytes)

    def _make_now(self, path: Path, size_bytes: int) -> Segment:
        began = time.perf_counter()
        segment = Segment(path, -(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        self._slow = time.perf_counter() - began > _PATIENCE_S
        return segment

    def begin(self) -> None:
        """Begins to work ahead, from the first time that a segment was full."""
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._work_ahead, name="clonoscope-segments", daemon=True)
                self._thread.start()

    def _work_ahead(self) -> None:
        while not self._closed.is_set():
            self._wanted.wait()
            self._wanted.clear()
            if self._closed.is_set() or self._spare is not None:
                continue
            self._made += 1
            began = time.perf_counter()
            try:
                made = Segment(self._folder / f".spare-{os.getpid()}-{self._made}", self._size_bytes)
            except OSError:
                continue  # who needs one meets the same, and counts what is dropped
            with self._lock:
                self._slow = time.perf_counter() - began > _PATIENCE_S
                self._spare = made
            if self._closed.is_set():
                self._drop_spare()

    def close(self) -> None:
        """Drops what was made ahead."""
        with self._lock:
            self._closed.set()
        self._wanted.set()
        self._drop_spare()

    def _drop_spare(self) -> None:
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()
            spare.path.unlink(missing_ok=True)

    def forget(self) -> None:
        """In a child that was forked: the thread did not come along, and the spare is the parent's."""
        if self._spare is not None:
            self._spare.close()
