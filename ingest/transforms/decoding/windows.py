"""Reads pieces of logs window by window, whatever the sizes of both, and scans them slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.lake.schema import ROW_GROUP_ROWS
from ingest.transforms.decoding import kernels
from ingest.transforms.decoding.layouts import CODE_OF_TAG
from ingest.transforms.decoding.pieces import Pieces
from replay.errors import CorruptDeterminant, CorruptMember
from replay.log.codec import decode_at
from replay.log.determinants import JAVA_STREAM_MAGIC

SLICE_ROWS = ROW_GROUP_ROWS
WINDOW_BYTES = 8 << 20
MOST_BYTES = 64 << 20
"""Of one determinant: that much is in memory at once."""

Read = Callable[[int, int], bytes]
"""Bytes of the pack, from where and how many."""


@dataclass(slots=True)
class Slice:
    """Consecutive determinants: in `data` where each begins, its length and the code of its kind.

    They come from entries: of each its piece, the row behind its last one, the number of its first determinant, and
    how far a place in its member is from the place in `data`.
    """

    data: Any
    starts: Any
    lengths: Any
    codes: Any
    piece: Any
    upto: Any
    seq: Any
    shift: Any

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def rows_of_entries(self) -> Any:
        return np.diff(self.upto, prepend=0)


@dataclass(slots=True)
class _Window:
    """Bytes of one or more pieces one behind the other; only a single one may go on behind its end."""

    data: Any
    begins: Any
    ends: Any
    piece: Any
    shift: Any
    goes_on: bool
    seq: Any


@dataclass(slots=True)
class Scan:
    """Scans pieces in order. What can't be read further is among the `faults`, by piece, and the next one is begun."""

    pieces: Pieces
    read: Read
    faults: list[tuple[int, CorruptMember]] = field(default_factory=list)
    _room: int = 0
    _next: int = 0
    """The piece that is read next, from its byte `_done`, which is determinant `_seq` of it."""
    _done: int = 0
    _seq: int = 0

    def slices(self) -> Iterator[Slice]:
        while self._next < len(self.pieces):
            window = self._window()
            entry, at, done = 0, 0, False
            while not done:
                found, entry, at, done = self._slice(window, entry, at)
                if len(found):
                    yield found
            self._step(window, at)

    def _window(self) -> _Window:
        """What comes next, as much as there is room for."""
        pieces, room = self.pieces, self._room or WINDOW_BYTES
        parts, sizes, first, done = list[bytes](), list[int](), self._next, self._done
        for n in range(first, len(pieces)):
            left = int(pieces.size[n]) - done
            if left > room and parts:
                break
            parts.append(self.read(int(pieces.begin[n]) + done, min(left, room)))
            sizes.append(min(left, room))
            room, done = room - sizes[-1], 0
            if room <= 0:
                break
        ends = np.cumsum(np.array(sizes, dtype=np.int64))
        begins = ends - sizes
        those = slice(first, first + len(sizes))
        shift, seq = pieces.offset[those] - begins, pieces.seq[those].copy()
        shift[0] += self._done
        seq[0] += self._seq
        goes_on = sizes[0] < int(pieces.size[first]) - self._done
        data = np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), dtype=np.uint8)
        return _Window(data, begins, ends, np.arange(first, first + len(sizes)), shift, goes_on, seq)

    def _slice(self, window: _Window, entry: int, at: int) -> tuple[Slice, int, int, bool]:
        """The next rows, where in which entry they end, and whether the window is done with."""
        starts, lengths = np.empty(SLICE_ROWS, np.int64), np.empty(SLICE_ROWS, np.int64)
        codes = np.empty(SLICE_ROWS, np.uint8)
        upto = np.zeros(len(window.begins), np.int64)
        first, rows = entry, 0
        while True:
            rows, entry, at, why = kernels.scan(
                window.data, window.begins, window.ends, entry, at, rows, starts, lengths, codes, upto
            )
            if why in (kernels.DONE, kernels.FULL) or (why == kernels.CUT and window.goes_on):
                break
            after = self._asked(window, entry, at)
            if after is None:
                break
            if after < 0:  # what stands behind a fault is left out
                entry += 1
                if entry == len(window.begins):
                    break
                at = int(window.begins[entry])
                continue
            starts[rows], lengths[rows], codes[rows] = at, after - at, CODE_OF_TAG[window.data[at]]
            rows, at = rows + 1, after
        those = slice(first, entry + 1)
        found = Slice(
            window.data, starts[:rows], lengths[:rows], codes[:rows],
            window.piece[those], upto[those], window.seq[those].copy(), window.shift[those],
        )  # fmt: skip
        last = min(entry, len(window.begins) - 1)
        window.seq[last] += rows - (int(upto[last - 1]) if last > first else 0)
        return found, entry, at, why != kernels.FULL

    def _asked(self, window: _Window, entry: int, at: int) -> int | None:
        """Where the codec says that the determinant ends; -1 if it is corrupt, None if that can't be told yet."""
        data = memoryview(window.data)[: int(window.ends[entry])]
        try:
            return decode_at(data, at)[1]  # type: ignore[arg-type]
        except CorruptDeterminant as fault:
            if window.goes_on and bytes(data[at + 1 : at + 5]) == JAVA_STREAM_MAGIC[: max(0, len(data) - at - 1)]:
                return None
            fault.offset = at + int(window.shift[entry])
            self.faults.append((int(window.piece[entry]), fault))
            return -1

    def _step(self, window: _Window, at: int) -> None:
        """To what comes behind the window."""
        if not window.goes_on or (self.faults and self.faults[-1][0] == self._next):
            self._to_piece(self._next + len(window.begins))
        elif at:
            self._done, self._seq, self._room = self._done + at, int(window.seq[0] - self.pieces.seq[self._next]), 0
        elif len(window.data) < MOST_BYTES:
            self._room = min(MOST_BYTES, 4 * len(window.data))
        else:
            self.faults.append((self._next, _too_long(window)))
            self._to_piece(self._next + 1)

    def _to_piece(self, piece: int) -> None:
        self._next, self._done, self._seq, self._room = piece, 0, 0, 0


def _too_long(window: _Window) -> CorruptMember:
    return CorruptMember(
        f"a determinant is longer than {MOST_BYTES >> 20} MiB",
        offset=int(window.shift[0]),
        remedy="What stands before it is kept; log a reference in place of so large a value",
    )


def cuts_of(member: Pieces, read: Read, every_bytes: int) -> list[tuple[int, int]]:
    """Where a member can be cut into ranges of about so many bytes: (byte, number of the determinant there)."""
    found: list[tuple[int, int]] = []
    last = 0
    for one in Scan(member, read).slices():
        at = int(one.starts[0] + one.shift[0])
        if at - last >= every_bytes:
            found.append((at, int(one.seq[0])))
            last = at
    return found
