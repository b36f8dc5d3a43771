"""A folder that is still being recorded into, taken over look by look: members only grow, and what is not there as a
whole is not there yet.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from replay.bundle.folder import Folder
from replay.bundle.growing_pack import GrowingPack
from replay.bundle.limits import SPLIT, Limits
from replay.bundle.members import MANIFEST, parse_member
from replay.bundle.whole_records import whole_bytes
from replay.errors import BundleError
from replay.model import Manifest

_CHUNK_BYTES = 8 << 20
_LONGEST_BYTES = 256 << 20
"""What claims to be longer is damaged, and left for those who read it."""
_LOOKED_BACK_BYTES = 64 << 10
"""So much before a member's new bytes is held against what it was when they came."""
_REMEDY = (
    "Members of a growing recording are only appended to. If this one was begun anew, delete the job and follow the "
    "folder again"
)

Seen = tuple[int, int]
"""Size and time of the last change, in nanoseconds."""


class GrowingFolder:
    """What of a folder stands in a growing pack, and what is new."""

    def __init__(self, path: Path, pack: GrowingPack, limits: Limits) -> None:
        self.path = path
        self.pack = pack
        self._limits = limits
        self._folder = Folder(path, limits)
        self._seen: dict[str, Seen] = {}
        self.complete = False
        """Whether the manifest says that nothing more comes."""

    def look(self) -> bool:
        """Takes in what is new and whole; whether anything in the folder is otherwise than at the last look.

        Raises `BundleError` where a member is not what it was with more behind it.
        """
        self._check_there()
        found = {name: (stat.st_size, stat.st_mtime_ns) for name, stat in self._stats()}
        changed = [name for name, seen in sorted(found.items()) if self._seen.get(name) != seen]
        self._check_sizes({name: size for name, (size, _) in found.items()})
        gone = [name for name in self.pack.names() if name not in found]
        for name in gone:
            self._drop(name)
        for name in changed:
            self._take(name, *found[name])
        self._seen = found
        return bool(changed or gone)

    def settle(self) -> None:
        """Takes members as they are, with what is torn at their ends: nothing more comes."""
        for name, (size, _) in sorted(self._seen.items()):
            if name != MANIFEST:
                self._append(name, size)

    def _check_there(self) -> None:
        if not self.path.is_dir():
            raise BundleError(
                "the folder is gone", path=str(self.path), remedy="What was taken in by then stays in the job"
            )

    def _stats(self) -> Iterator[tuple[str, os.stat_result]]:
        for name, entry in self._folder.entries():
            try:
                yield name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # a temporary name, and it has its own by now

    def _check_sizes(self, sizes: dict[str, int]) -> None:
        for name, size in sizes.items():
            self._limits.check_size(name, size)
        if sum(sizes.values()) > self._limits.max_bytes:
            raise BundleError(
                f"the bundle has more than {self._limits.max_bytes} bytes", path=str(self.path), remedy=SPLIT
            )

    def _drop(self, name: str) -> None:
        if name == MANIFEST or parse_member(name).kind != "unknown":
            raise BundleError("the member is gone", path=name, remedy=_REMEDY)
        self.pack.remove(name)

    def _take(self, name: str, size: int, changed_ns: int) -> None:
        if name == MANIFEST:
            self._take_manifest()
        elif parse_member(name).kind == "unknown":
            with self._folder.open(name) as stream:
                self.pack.replace(name, stream.read(size))
        else:
            self._check_grown(name, size)
            self._append_whole(name, size)

    def _take_manifest(self) -> None:
        """One that is half written is as before; the first one must be whole."""
        with self._folder.open(MANIFEST) as stream:
            data = stream.read(self._limits.max_manifest_bytes)
        try:
            complete = Manifest.from_json(data).complete
        except BundleError:
            if MANIFEST not in self.pack:
                raise
            return
        self.complete = complete
        if self.pack.read(MANIFEST, 0, len(data) + 1) != data if MANIFEST in self.pack else True:
            self.pack.replace(MANIFEST, data)

    def _check_grown(self, name: str, size: int) -> None:
        taken = self.pack.size(name)
        if size < taken:
            raise BundleError(
                f"the member had {taken} bytes and has {size} now", path=name, offset=size, remedy=_REMEDY
            )
        # Of a member that is as long as before and yet was written to, all that was taken is looked at again.
        seen = self._seen.get(name)
        begin = 0 if seen is None or seen[0] == size else max(0, taken - _LOOKED_BACK_BYTES)
        with self._folder.open(name) as stream:
            stream.seek(begin)
            self._check_same(name, stream, begin, taken)

    def _check_same(self, name: str, stream: BinaryIO, at: int, taken: int) -> None:
        while at < taken:
            now = stream.read(min(_CHUNK_BYTES, taken - at))
            before = self.pack.read(name, at, len(now) or 1)
            if now != before:
                same = next(
                    (n for n, both in enumerate(zip(now, before, strict=False)) if both[0] != both[1]), len(now)
                )
                raise BundleError("the member has other bytes than before", path=name, offset=at + same, remedy=_REMEDY)
            at += len(now)

    def _append_whole(self, name: str, size: int) -> None:
        """Up to the last record that is whole. A record that is longer than what is read at once is read with more."""
        chunk_bytes = _CHUNK_BYTES
        with self._folder.open(name) as stream:
            if name not in self.pack and size == 0:
                self.pack.append(name, b"")
            while (taken := self.pack.size(name)) < size:
                stream.seek(taken)
                data = stream.read(min(chunk_bytes, size - taken))
                whole = whole_bytes(name, io.BytesIO(data), len(data)) if data else 0
                if not whole and len(data) < chunk_bytes:
                    return
                if whole or chunk_bytes > _LONGEST_BYTES:
                    self.pack.append(name, data[: whole or len(data)])
                else:
                    chunk_bytes *= 4

    def _append(self, name: str, size: int) -> None:
        with self._folder.open(name) as stream:
            if name not in self.pack:
                self.pack.append(name, b"")
            while (taken := self.pack.size(name)) < size:
                stream.seek(taken)
                data = stream.read(min(_CHUNK_BYTES, size - taken))
                if not data:
                    return
                self.pack.append(name, data)
