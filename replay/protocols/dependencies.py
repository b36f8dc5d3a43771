"""What a task's state follows from: how far into whose logs, by the attempt that logged it. Carried on every buffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from replay.model import TaskId, Thread

Place = tuple[TaskId, Thread, int]
"""An epoch of a log."""

Vector = dict[Place, tuple[int, int]]
"""Per place the last attempt and how far into what it logged there. A newer attempt's log goes on where an older one's
ended that was stable, so what is older is stable, or whoever follows from it was found out when that attempt failed."""

ENTRY_BYTES = 2 + 1 + 8 + 4 + 4
"""Task number, thread, epoch, attempt, length."""


def merge(into: Vector, other: Mapping[Place, tuple[int, int]]) -> None:
    """The later of both, place by place."""
    for place, upto in other.items():
        if upto > into.get(place, (-1, -1)):
            into[place] = upto


@dataclass(slots=True)
class Ends:
    """Of each attempt that failed, what the storage had of its logs then: what goes past that is lost."""

    _by_task: dict[TaskId, list[tuple[int, dict[tuple[Thread, int], int]]]] = field(default_factory=dict)

    def add(self, task: TaskId, attempt: int, stored: dict[tuple[Thread, int], int]) -> None:
        """An attempt is over."""
        self._by_task.setdefault(task, []).append((attempt, stored))

    def lost(self, vector: Mapping[Place, tuple[int, int]], completed: int) -> Iterable[Place]:
        """The places that no log returns any more as far as that; what a completed checkpoint holds is not needed."""
        return [place for place, upto in vector.items() if place[2] >= completed and self._is_lost(place, upto)]

    def _is_lost(self, place: Place, known: tuple[int, int]) -> bool:
        task, thread, epoch = place
        attempt, upto = known
        for ended, stored in self._by_task.get(task, ()):
            if ended >= attempt:
                return upto > stored.get((thread, epoch), 0)
        return False
