"""Opens packs where they lie: a file is mapped, and of an object in a bucket is read what is asked for, by ranges."""

from __future__ import annotations

from collections import OrderedDict

from ingest.lake.errors import OutOfReach
from ingest.lake.places import InBucket, Place, place_of, reaching
from replay.bundle.pack import Pack

BLOCK_BYTES = 1 << 20
BLOCKS_KEPT = 32
BLOCKS_AHEAD = 4
"""So many are asked for at once by who reads one behind the other."""


def open_pack(address: Place | str) -> Pack:
    """Raises `OutOfReach` where a bucket does not answer, now or later, and FileNotFoundError where there is none."""
    place = place_of(address)
    return Pack.by_ranges(Blocks(place), str(place)) if isinstance(place, InBucket) else Pack(place)


class Blocks:
    """An object by slices: small ones are cut from blocks, of which the last ones are kept; large ones are asked for
    as they are."""

    def __init__(self, place: InBucket) -> None:
        self._place = place
        with reaching(place):
            self._file = place.open_file()
            self._size: int = self._file.size()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(self._size)
        if end - begin > BLOCK_BYTES:
            return self._asked(begin, end)
        numbers = range(begin // BLOCK_BYTES, -(-end // BLOCK_BYTES)) if begin < end else range(0)
        found = b"".join(map(self._block, numbers))
        return found[begin % BLOCK_BYTES :][: end - begin] if found else b""

    def close(self) -> None:
        self._blocks.clear()
        self._file.close()

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            self._fetch(number, BLOCKS_AHEAD if number - 1 in self._blocks else 1)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _fetch(self, first: int, count: int) -> None:
        begin = first * BLOCK_BYTES
        data = self._asked(begin, min(self._size, begin + count * BLOCK_BYTES))
        for at in range(0, len(data), BLOCK_BYTES):
            self._blocks[first + at // BLOCK_BYTES] = data[at : at + BLOCK_BYTES]
        while len(self._blocks) > BLOCKS_KEPT:
            self._blocks.popitem(last=False)

    def _asked(self, begin: int, end: int) -> bytes:
        with reaching(self._place):
            data: bytes = self._file.read_at(end - begin, begin)
        if len(data) != end - begin:
            raise OutOfReach(f"{self._place} gave {len(data)} of {end - begin} bytes. Try again.")
        return data
