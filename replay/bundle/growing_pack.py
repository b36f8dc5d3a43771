"""Writes a pack that grows: members' bytes go to the end of one file or into room left there, and what is a member of
which length is said by an index, which is replaced as a whole. Who has an index open reads on what it says.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.bundle.content import content_id_of, manifest_digest
from replay.bundle.members import MANIFEST
from replay.bundle.pack import GROWING_MAGIC, IndexBuilder, Pack, PackSummary, data_path, storing

_CHUNK_BYTES = 1 << 20
_ROOM = 2
"""A member that outgrows its place has room there for so many times its size: to grow byte by byte stays linear."""


@dataclass(slots=True)
class _Place:
    offset: int
    room: int
    size: int = 0
    sha: Any = field(default_factory=hashlib.sha256)
    """Of its bytes; None where it was not followed from its beginning by this process."""
    digest: bytes = b""


class GrowingPack:
    """One writer at a time. What was written and not published is lost with the process, and costs only room."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, _Place] = {}
        if path.exists():
            self._take_over()
        with storing(path.name):
            self._data = os.open(data_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._end = os.fstat(self._data).st_size

    def _take_over(self) -> None:
        """What another writer published; it knew of room that is not known here."""
        with closing(Pack(self.path)) as pack:
            for name, offset, size in pack.extents():
                self._places[name] = _Place(offset, size, size, None, pack.digest(name))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def names(self) -> list[str]:
        """In no particular order."""
        return list(self._places)

    def size(self, name: str) -> int:
        """How many bytes the member has; none where there is no such member."""
        place = self._places.get(name)
        return 0 if place is None else place.size

    def read(self, name: str, begin: int, size: int) -> bytes:
        """Of the member's bytes those from `begin` on, at most so many."""
        place = self._places[name]
        return os.pread(self._data, max(0, min(size, place.size - begin)), place.offset + begin)

    def append(self, name: str, data: bytes) -> None:
        """At the end of the member, which begins to exist with that."""
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._placed(len(data))
        elif place.size + len(data) > place.room:
            place = self._places[name] = self._moved(place, place.size + len(data))
        if place.sha is None:
            place.sha = self._hashed(place)
        self._write(data, place.offset + place.size)
        place.sha.update(data)
        place.size += len(data)
        place.digest = place.sha.digest()

    def replace(self, name: str, data: bytes) -> None:
        """The member anew: for those few that are not only appended to."""
        self._places.pop(name, None)
        self.append(name, data)
        if name == MANIFEST:
            self._places[name].digest = manifest_digest(data)

    def remove(self, name: str) -> None:
        """The member is none any more."""
        del self._places[name]

    def publish(self) -> PackSummary:
        """From now on, who opens the pack finds what was written."""
        index, ordered = IndexBuilder(), sorted(self._places)
        for name in ordered:
            place = self._places[name]
            index.add(name, place.offset, place.size, place.digest)
        content_id = content_id_of((name, index.digest(name)) for name in ordered)
        with storing(self.path.name):
            os.fsync(self._data)
            handle, part = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".part", dir=self.path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(GROWING_MAGIC)
                    index.write(file, len(GROWING_MAGIC), ordered, bytes.fromhex(content_id), GROWING_MAGIC)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(part, self.path)
            except BaseException:
                os.unlink(part)
                raise
        return PackSummary(content_id, len(ordered), sum(place.size for place in self._places.values()))

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._data)

    def _placed(self, room: int) -> _Place:
        place = _Place(self._end, room)
        self._end += room
        return place

    def _moved(self, old: _Place, size: int) -> _Place:
        new = self._placed(_ROOM * size)
        for at in range(0, old.size, _CHUNK_BYTES):
            self._write(os.pread(self._data, min(_CHUNK_BYTES, old.size - at), old.offset + at), new.offset + at)
        new.size, new.sha, new.digest = old.size, old.sha, old.digest
        return new

    def _hashed(self, place: _Place) -> Any:
        sha = hashlib.sha256()
        for at in range(0, place.size, _CHUNK_BYTES):
            sha.update(os.pread(self._data, min(_CHUNK_BYTES, place.size - at), place.offset + at))
        return sha

    def _write(self, data: bytes, at: int) -> None:
        left = memoryview(data)
        with storing(self.path.name):
            while left:
                written = os.pwrite(self._data, left, at)
                left, at = left[written:], at + written
