"""Reach: what of a task's logs another one would hold at another sharing depth than the recorded one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from replay.model import WORLD, Graph


class Reached(Enum):
    """How a holder's copies at that depth follow from the recording."""

    AS_RECORDED = "as recorded"
    NOTHING = "nothing"
    UNKNOWN = "unknown"
    AS_DEPENDED = "at least what it depends on"


@dataclass(slots=True)
class Reach:
    """A depth beside the recorded one; None is full."""

    graph: Graph
    recorded: int | None
    depth: int | None
    _known: dict[tuple[str, str], Reached] = field(default_factory=dict)

    def of(self, task: str, holder: str) -> Reached:
        """Of a task's logs at a holder: logs are passed on by who is nearer than the depth, whichever way they came.

        So where ways of several lengths lead there, only part of what was recorded would have come.
        """
        found = self._known.get((task, holder))
        if found is None:
            found = self._known[task, holder] = self._of(task, holder)
        return found

    def _of(self, task: str, holder: str) -> Reached:
        if self.depth == self.recorded or task == holder:
            return Reached.AS_RECORDED
        hops, longest = self._hops(task, holder)
        depth = longest if self.depth is None else self.depth
        if hops > depth:
            return Reached.NOTHING
        if self.recorded is not None and depth > self.recorded:
            if longest <= self.recorded:
                return Reached.AS_RECORDED
            return Reached.AS_DEPENDED if longest <= depth and holder != WORLD else Reached.UNKNOWN
        return Reached.AS_RECORDED if longest <= depth else Reached.UNKNOWN

    def _hops(self, task: str, holder: str) -> tuple[int, int]:
        if holder != WORLD:
            return self.graph.distance(task, holder) or 0, self.graph.longest_distance(task, holder) or 0
        below = (*self.graph.all_downstream(task), task)
        ends = [one for one in below if not self.graph.task(one).outputs]
        near = min((self.graph.distance(task, one) or 0 for one in ends), default=0)
        return near + 1, max((self.graph.longest_distance(task, one) or 0 for one in ends), default=0) + 1

    def is_exact(self) -> bool:
        """Whether everybody would have held what he did, or nothing."""
        return self._all_in(Reached.AS_RECORDED, Reached.NOTHING)

    def is_known(self) -> bool:
        """Whether the least that anybody would have held is all that can be said."""
        return self._all_in(Reached.AS_RECORDED, Reached.NOTHING, Reached.AS_DEPENDED)

    def _all_in(self, *kinds: Reached) -> bool:
        others = ((task.id, (*self.graph.all_downstream(task.id), WORLD)) for task in self.graph.tasks)
        return all(self.of(task, other) in kinds for task, those in others for other in those)


def depths_of(graph: Graph) -> int:
    """The longest way from any task to any other: a depth of that much is full."""
    pairs = ((task.id, other) for task in graph.tasks for other in graph.all_downstream(task.id))
    return max((graph.longest_distance(*pair) or 0 for pair in pairs), default=0)
