"""The memory that all thread logs of a task share: segments of one size, so many and no more."""

from __future__ import annotations

from collections.abc import Callable

from replay.errors import PoolExhausted


class DeterminantPool:
    """Counts segments. A log that grows past those it has claims another; truncation gives them back."""

    __slots__ = ("_exhausted", "high_water", "segment_bytes", "segments", "used")

    def __init__(self, size_bytes: int, segment_bytes: int, exhausted: Callable[[], PoolExhausted]):
        """`exhausted` says in words what fills the pool, when nothing is left."""
        self.segment_bytes = segment_bytes
        self.segments = size_bytes // segment_bytes
        self.used = 0
        self.high_water = 0
        self._exhausted = exhausted

    def claim(self, segments: int) -> None:
        """Takes segments, or raises what there is to say."""
        if self.used + segments > self.segments:
            raise self._exhausted()
        self.used += segments
        if self.used > self.high_water:
            self.high_water = self.used

    def release(self, segments: int) -> None:
        """Gives segments back."""
        self.used -= segments
