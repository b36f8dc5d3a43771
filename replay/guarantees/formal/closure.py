"""What an element leads to and comes from (the closures of D), and theorem 1's condition on them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field


@dataclass
class Relation:
    """D, as far as it was used: from what was taken together to what was made of it."""

    pairs: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = field(default_factory=list)

    def add(self, taken: Iterable[Hashable], made: Iterable[Hashable]) -> None:
        """One transform."""
        self.pairs.append((frozenset(taken), frozenset(made)))

    def closure(self, element: Hashable) -> frozenset[Hashable]:
        """Cl_D: the element, and all that was made of it, of that, and so on."""
        return self._reached(element, [(taken, made) for taken, made in self.pairs])

    def inverse(self, element: Hashable) -> frozenset[Hashable]:
        """Cl_D inverted: the element, and all that it was made of."""
        return self._reached(element, [(made, taken) for taken, made in self.pairs])

    def _reached(
        self, element: Hashable, pairs: list[tuple[frozenset[Hashable], frozenset[Hashable]]]
    ) -> frozenset[Hashable]:
        found, waiting = {element}, [element]
        while waiting:
            one = waiting.pop()
            for first, second in pairs:
                if one in first:
                    waiting.extend(second - found)
                    found |= second
        return frozenset(found)

    def leads_past(self, s: Hashable, b1: Hashable, b2: Hashable) -> tuple[Hashable, Hashable] | None:
        """Theorem 1's condition on the result `s` of a non-commutative operation and two elements that left and depend
        on it: what leads from `s` to the second must lead through the first, from which it can be made again.

        A step (u, v) that leads into what lies between them from beside it; None: the condition holds.
        """
        between = self.closure(b1) & self.inverse(b2)
        below = self.closure(s)
        for taken, made in self.pairs:
            for u in taken & below:
                for v in made & between:
                    if v != b1 and u not in between:
                        return u, v
        return None
