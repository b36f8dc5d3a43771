"""Which steps of a stretch meet a condition, as sorted arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.lake.step_condition import RANGE
from ingest.lake.step_plan import Asked, Both, Either, Listed, Near, Plan, Without

Numbers = npt.NDArray[np.int64]
Ask = Callable[..., dict[str, Any]]
"""Columns by name: of a query, with values for its parameters."""

MOST_STEPS = 2_097_152
"""How many are looked at in one go: what is held in memory at once."""
NO_STEPS: Numbers = np.empty(0, np.int64)


class StepArrays:
    """Answers plans, stretch by stretch. `near` knows relations of steps; `steps` says how many there are."""

    def __init__(self, ask: Ask, near: Callable[[Near, int, int], Numbers], steps: int) -> None:
        self._ask = ask
        self._near = near
        self._steps = steps

    def of(self, plan: Plan, begin: int, end: int) -> Numbers:
        """Those from begin up to, and without, end."""
        found = [self._of(plan, *piece) for piece in pieces(max(0, begin), min(end, self._steps))]
        return found[0] if len(found) == 1 else np.concatenate([NO_STEPS, *found])

    def count(self, plan: Plan, begin: int, end: int) -> int:
        """How many there are."""
        if not isinstance(plan, Asked):
            return sum(len(self.of(plan, *piece)) for piece in pieces(max(0, begin), min(end, self._steps)))
        query = f"SELECT count(*) AS n FROM steps WHERE {RANGE} AND ({plan.condition})"
        return int(self._ask(query, range_from=begin, range_end=min(end, self._steps))["n"][0])

    def _of(self, plan: Plan, begin: int, end: int) -> Numbers:
        match plan:
            case Asked(condition):
                return self._listed(f"SELECT step FROM steps WHERE {RANGE} AND ({condition})", begin, end)
            case Listed(query):
                return self._listed(query, begin, end)
            case Near():
                return self._near(plan, begin, end)
            case Both(parts):
                return self._of_both(parts, begin, end)
            case Either(parts):
                found = np.zeros(end - begin, np.bool_)
                for part in parts:
                    found[self._of(part, begin, end) - begin] = True
            case Without(part):
                found = np.ones(end - begin, np.bool_)
                found[self._of(part, begin, end) - begin] = False
        return np.flatnonzero(found) + begin

    def _listed(self, query: str, begin: int, end: int) -> Numbers:
        steps: Numbers = self._ask(query, range_from=begin, range_end=end)["step"]
        if len(steps) > 1 and not (steps[1:] > steps[:-1]).all():  # a query that joins may give them in any order
            return np.sort(steps, kind="stable")
        return steps

    def _of_both(self, parts: tuple[Plan, ...], begin: int, end: int) -> Numbers:
        found = self._of(parts[0], begin, end)
        for part in parts[1:]:
            if len(found):  # of the others no more is looked at than what may still count
                more = self._of(part, int(found[0]), int(found[-1]) + 1)
                found = np.intersect1d(found, more, assume_unique=True)
        return found


def pieces(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """From begin to end, as much at once as may be."""
    for first in range(begin, end, MOST_STEPS):
        yield first, min(end, first + MOST_STEPS)
