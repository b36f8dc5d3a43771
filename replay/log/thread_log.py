"""The log of one thread: bytes by epoch. Epochs are explicit, so an empty epoch is an epoch."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from replay.errors import check
from replay.log.codec import encode
from replay.log.determinants import Determinant


class ThreadLog:
    """Appended at the end of an epoch; read by epoch and offset; truncated by whole epochs from the front."""

    __slots__ = ("_bytes", "_epochs", "first_epoch")

    def __init__(self) -> None:
        self._bytes: dict[int, bytearray] = {}
        self._epochs: list[int] = []
        self.first_epoch = 0

    @property
    def epochs(self) -> tuple[int, ...]:
        """The epochs that are there, ascending."""
        return tuple(self._epochs)

    @property
    def length_bytes(self) -> int:
        """The bytes of all epochs together."""
        return sum(len(one) for one in self._bytes.values())

    def open(self, epoch: int) -> None:
        """Makes the epoch exist, empty if nothing was appended to it."""
        check(epoch >= self.first_epoch, f"epoch {epoch} was truncated; the log begins at {self.first_epoch}")
        if epoch not in self._bytes:
            self._bytes[epoch] = bytearray()
            insort(self._epochs, epoch)

    def append(self, determinant: Determinant, epoch: int) -> int:
        """Appends one determinant; returns its offset from the epoch's start."""
        return self.append_bytes(encode(determinant), epoch)

    def append_bytes(self, data: bytes, epoch: int) -> int:
        """Appends bytes; returns their offset from the epoch's start."""
        self.open(epoch)
        held = self._bytes[epoch]
        offset = len(held)
        held += data
        return offset

    def bytes_of(self, epoch: int, start: int = 0, end: int | None = None) -> bytes:
        """What the epoch holds between two offsets; nothing for an unknown epoch."""
        held = self._bytes.get(epoch)
        return b"" if held is None else bytes(held[start:end])

    def length_of(self, epoch: int) -> int:
        """How many bytes the epoch holds; 0 for an unknown epoch."""
        held = self._bytes.get(epoch)
        return 0 if held is None else len(held)

    def since(self, epoch: int) -> Iterator[tuple[int, bytes]]:
        """Every epoch from this one on, with its bytes."""
        for one in self._epochs[bisect_left(self._epochs, epoch) :]:
            yield one, bytes(self._bytes[one])

    def truncate(self, before_epoch: int) -> None:
        """Forgets the epochs before this one, for good."""
        cut = bisect_left(self._epochs, before_epoch)
        for epoch in self._epochs[:cut]:
            del self._bytes[epoch]
        del self._epochs[:cut]
        self.first_epoch = max(self.first_epoch, before_epoch)

    def forget(self, from_epoch: int) -> None:
        """Drops the epochs from this one on: what a rollback undoes."""
        cut = bisect_left(self._epochs, from_epoch)
        for epoch in self._epochs[cut:]:
            del self._bytes[epoch]
        del self._epochs[cut:]
