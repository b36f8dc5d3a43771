"""What a task's state follows from: how far into whose logs, by the attempt that logged it. Carried on every buffer."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from replay.model import TaskId, Thread

Place = tuple[TaskId, Thread, int]
"""An epoch of a log."""

Vector = dict[Place, tuple[int, int]]
"""Per place the last attempt and how far into what it logged there. A newer attempt's log goes on where an older one's
ended, and whoever followed from more than that was found out when it ended: so the length counts as the newer's too."""

Extents = dict[tuple[Thread, int], int]
"""Of one task's logs, by thread and epoch: how far they go."""

ENTRY_BYTES = 2 + 1 + 8 + 4 + 4
"""Task number, thread, epoch, attempt, length."""


def merge(into: Vector, other: Mapping[Place, tuple[int, int]]) -> None:
    """The later of both, place by place."""
    for place, upto in other.items():
        known = into.get(place)
        if known is None:
            into[place] = upto
        elif known != upto:
            into[place] = (max(known[0], upto[0]), max(known[1], upto[1]))


@dataclass(frozen=True, slots=True)
class Taking:
    """A buffer was taken in an epoch, when the task's logs of that epoch were so long. All that was logged later
    follows from it, but for what the output threads had still to cut of epochs before."""

    buffer: tuple[int, int]  # its input and its number
    epoch: int
    lengths: Mapping[Thread, int]
    vector: Vector

    def allows(self, thread: Thread, epoch: int) -> int:
        """How far a log goes that does not follow from it."""
        if epoch == self.epoch:
            return self.lengths.get(thread, 0)
        return sys.maxsize if epoch < self.epoch else 0

    def binds(self, extents: Extents) -> bool:
        """Whether something of logs that long follows from it."""
        return any(upto > self.allows(thread, epoch) for (thread, epoch), upto in extents.items())


@dataclass(slots=True)
class Followed:
    """What the next buffer of an output follows from: the first so many of its task's takings."""

    takings: int = 0
    vector: Vector = field(default_factory=dict)

    def advance(self, takings: Sequence[Taking], thread: Thread, epoch: int, length: int) -> Taking | None:
        """To where the output's log is so long in that epoch; returns the next taking, if it is known already."""
        while self.takings < len(takings) and takings[self.takings].allows(thread, epoch) < length:
            merge(self.vector, takings[self.takings].vector)
            self.takings += 1
        return takings[self.takings] if self.takings < len(takings) else None

    def forget(self, takings: int, before_epoch: int) -> None:
        """A checkpoint completed: so many takings are forgotten, and what is before it is nobody's concern."""
        self.takings = max(0, self.takings - takings)
        for place in [one for one in self.vector if one[2] < before_epoch]:
            del self.vector[place]


@dataclass(slots=True)
class Ends:
    """Of each attempt that is over, how far its logs go on in the next one: what goes past that is lost."""

    _by_task: dict[TaskId, list[tuple[int, Extents]]] = field(default_factory=dict)

    def add(self, task: TaskId, attempt: int, kept: Extents) -> None:
        """An attempt is over; or what was kept of it turned out to follow from what is lost."""
        self._by_task.setdefault(task, []).append((attempt, kept))

    def lost(self, vector: Mapping[Place, tuple[int, int]], completed: int) -> Iterable[Place]:
        """The places that no log returns any more as far as that; what a completed checkpoint holds is not needed."""
        return [place for place, upto in vector.items() if place[2] >= completed and self._is_lost(place, upto)]

    def _is_lost(self, place: Place, known: tuple[int, int]) -> bool:
        task, thread, epoch = place
        attempt, upto = known
        ends = self._by_task.get(task, ())
        return any(ended >= attempt and upto > kept.get((thread, epoch), 0) for ended, kept in ends)
