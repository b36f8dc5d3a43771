"""A bundle's members in memory: recordings that are made, replayed and forgotten."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from typing import BinaryIO


class MembersInMemory:
    """By name, as a directory or a pack would give them."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.members = dict(sorted(members.items()))
        self._names = list(self.members)

    def names(self, prefix: str = "") -> Iterator[str]:
        """The members whose names begin so, in order."""
        following = islice(self._names, bisect_left(self._names, prefix), None)
        return takewhile(lambda name: name.startswith(prefix), following)

    def __contains__(self, name: object) -> bool:
        return name in self.members

    def size(self, name: str) -> int:
        """The member's size in bytes."""
        return len(self.members[name])

    def read(self, name: str) -> bytes:
        """The member's bytes."""
        return self.members[name]

    def open(self, name: str) -> BinaryIO:
        """The member as a stream that can seek."""
        return io.BytesIO(self.members[name])

    def digest(self, name: str) -> bytes:
        """The member's SHA-256."""
        return hashlib.sha256(self.members[name]).digest()

    def close(self) -> None:
        """There are no files to let go of."""
