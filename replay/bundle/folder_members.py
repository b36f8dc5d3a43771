"""Members of a bundle that lies as a directory, by name."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from replay.bundle.content import manifest_digest
from replay.bundle.folder import Folder
from replay.bundle.limits import Limits
from replay.bundle.members import MANIFEST
from replay.errors import BundleError


class FolderMembers:
    """Walks the tree once, and keeps names and sizes."""

    def __init__(self, path: Path, limits: Limits):
        self._folder = Folder(path, limits)
        self._sizes = dict(self._folder.walk())
        self._sorted = sorted(self._sizes)

    def names(self, prefix: str = "") -> Iterator[str]:
        """The members whose names begin so, in order."""
        for i in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            if not self._sorted[i].startswith(prefix):
                return
            yield self._sorted[i]

    def __contains__(self, name: object) -> bool:
        return name in self._sizes

    def size(self, name: str) -> int:
        """The member's size in bytes, when the tree was walked."""
        if name not in self._sizes:
            raise BundleError("the bundle has no such member", path=name)
        return self._sizes[name]

    def read(self, name: str) -> bytes:
        """The member's bytes."""
        with self.open(name) as stream:
            return stream.read()

    def open(self, name: str) -> BinaryIO:
        """The member as a stream that can seek."""
        self.size(name)
        return self._folder.open(name)

    def digest(self, name: str) -> bytes:
        """The member's SHA-256; the manifest's is that of its content id."""
        if name == MANIFEST:
            return manifest_digest(self.read(name))
        with self.open(name) as stream:
            return hashlib.file_digest(cast(io.BufferedReader, stream), "sha256").digest()

    def close(self) -> None:
        """Nothing is held open."""
