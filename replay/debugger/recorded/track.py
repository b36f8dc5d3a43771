"""Where an attempt's main thread stood at which time, as its receipts tell."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts
from replay.model import TaskId

Place = tuple[int, int]
"""(epoch, offset) of the main log."""

_BEGINNING: Place = (-1, 0)
_END: Place = (1 << 63, 0)


@dataclass(slots=True)
class Track:
    """The places at the takes, in time."""

    times_us: list[int] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    receipts: list[tuple[str, int]] = field(default_factory=list)

    @classmethod
    def of(cls, source: RecordingSource, task: TaskId, attempt: int) -> Track:
        """From the receipts of all inputs; a source has none, and so no track."""
        found: list[tuple[int, Place, tuple[str, int]]] = []
        for i in range(len(source.graph.task(task).inputs)):
            for path, offset, receipt in placed_receipts(source, task, attempt, i):
                if receipt.taken:
                    found.append((receipt.taken_us, (receipt.epoch, receipt.offset), (path, offset)))
        found.sort()
        track = cls()
        track.times_us = [t_us for t_us, _, _ in found]
        track.places = [place for _, place, _ in found]
        track.receipts = [receipt for _, _, receipt in found]
        return track

    def around(self, t_us: int) -> tuple[Place, Place]:
        """The places between which the thread stood at a time. At the very time of a take, both sides of it count."""
        before = bisect_left(self.times_us, t_us) - 1
        after = bisect_right(self.times_us, t_us)
        least = self.places[before] if before >= 0 else _BEGINNING
        return least, self.places[after] if after < len(self.places) else _END

    def witness(self, t_us: int, *, later: bool) -> tuple[str, int]:
        """(member, offset) of the receipt that tells where it stood at the latest, or at the earliest, at a time."""
        return self.receipts[bisect_right(self.times_us, t_us) if later else bisect_left(self.times_us, t_us) - 1]
