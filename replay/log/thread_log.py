"""The log of one thread: bytes by epoch. Epochs are explicit, so an empty epoch is an epoch."""

from __future__ import annotations

import sys
from bisect import bisect_left, insort
from collections.abc import Iterator

from replay.errors import InvariantError
from replay.log.codec import encode
from replay.log.determinant_pool import DeterminantPool
from replay.log.determinants import Determinant


class ThreadLog:
    """Appended at the end of an epoch; read by epoch and offset; truncated by whole epochs from the front."""

    __slots__ = ("_bytes", "_claimed_bytes", "_epochs", "_pool", "appended_bytes", "first_epoch", "length_bytes")

    def __init__(self, pool: DeterminantPool | None = None) -> None:
        """`pool` None is memory without end."""
        self._bytes: dict[int, bytearray] = {}
        self._epochs: list[int] = []
        self._pool = pool
        self._claimed_bytes = sys.maxsize if pool is None else 0
        self.first_epoch = 0
        self.length_bytes = 0
        self.appended_bytes = 0

    @property
    def epochs(self) -> tuple[int, ...]:
        """The epochs that are there, ascending."""
        return tuple(self._epochs)

    def open(self, epoch: int) -> None:
        """Makes the epoch exist, empty if nothing was appended to it."""
        if epoch in self._bytes:
            return
        if epoch < self.first_epoch:
            raise InvariantError(f"epoch {epoch} was truncated; the log begins at {self.first_epoch}")
        self._bytes[epoch] = bytearray()
        insort(self._epochs, epoch)

    def append(self, determinant: Determinant, epoch: int) -> int:
        """Appends one determinant; returns its offset from the epoch's start."""
        return self.append_bytes(encode(determinant), epoch)

    def append_bytes(self, data: bytes, epoch: int) -> int:
        """Appends bytes; returns their offset from the epoch's start."""
        held = self._bytes.get(epoch)
        if held is None:
            self.open(epoch)
            held = self._bytes[epoch]
        offset = len(held)
        held += data
        self.length_bytes += len(data)
        self.appended_bytes += len(data)
        if self.length_bytes > self._claimed_bytes:
            self._claim()
        return offset

    def _claim(self) -> None:
        if self._pool is not None:
            segments = -(-(self.length_bytes - self._claimed_bytes) // self._pool.segment_bytes)
            self._pool.claim(segments)
            self._claimed_bytes += segments * self._pool.segment_bytes

    def _release(self) -> None:
        if self._pool is not None:
            segments = (self._claimed_bytes - self.length_bytes) // self._pool.segment_bytes
            self._pool.release(segments)
            self._claimed_bytes -= segments * self._pool.segment_bytes

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
        self._drop(0, bisect_left(self._epochs, before_epoch))
        self.first_epoch = max(self.first_epoch, before_epoch)

    def forget(self, from_epoch: int) -> None:
        """Drops the epochs from this one on: what a rollback undoes."""
        self._drop(bisect_left(self._epochs, from_epoch), len(self._epochs))

    def cut(self, epoch: int, length: int) -> None:
        """Drops what an epoch holds past a length: it will be appended otherwise."""
        held = self._bytes.get(epoch)
        if held is not None and len(held) > length:
            self.length_bytes -= len(held) - length
            del held[length:]
            self._release()

    def _drop(self, start: int, end: int) -> None:
        for epoch in self._epochs[start:end]:
            self.length_bytes -= len(self._bytes.pop(epoch))
        del self._epochs[start:end]
        self._release()
