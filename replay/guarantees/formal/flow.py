"""The model of a stream processing system (definitions 1 to 4): input, output, transform, failure; and all its runs.

A is what has entered, B what has left in its order, W what is in the system: elements and states alike. A failure
leaves A and B as they are and puts a working set of the recovery function's in the place of W. Here that function may
have several values, since a recovery processes again in an order of its own choosing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

Element = Hashable
Bag = tuple[Any, ...]
"""A multiset: its elements, sorted by how they are written."""

MOST_STATES = 200_000


def bag(elements: Iterable[Element]) -> Bag:
    """The multiset of these."""
    return tuple(sorted(elements, key=repr))


def without(one: Bag, elements: Iterable[Element]) -> Bag:
    """A multiset without these, each taken out once."""
    left = list(one)
    for element in elements:
        left.remove(element)
    return tuple(left)


class Flow(Protocol):
    """Everything but the recovery: Γ and D, and where elements enter and leave."""

    def start(self) -> Hashable:
        """W before anything has entered."""

    def enters(self, entered: Bag) -> Iterable[Element]:
        """What may enter next."""

    def entering(self, working: Any, element: Element) -> Hashable:
        """W with an element that enters."""

    def transforms(self, working: Any, left: tuple[Element, ...]) -> Iterable[Hashable]:
        """W after each of the transforms that D has for it."""

    def leaves(self, working: Any, left: tuple[Element, ...]) -> Iterable[tuple[Element, Hashable]]:
        """What may leave next, and W without it."""

    def is_seen(self, element: Element) -> bool:
        """Whether it is given to the consumer; else to a storage: a snapshot, or a determinant that somebody holds."""


Recovery = Callable[[Bag, tuple[Element, ...]], Iterable[Hashable]]
"""F: the working sets that a recovery may come to, from A and B. The reference one leaves W as it was."""


class State(NamedTuple):
    """At one τ."""

    entered: Bag
    left: tuple[Element, ...]
    working: Hashable


class Step(NamedTuple):
    """How a state came about: `input`, `output`, `transform` or `recovery`, with the element."""

    kind: str
    element: Element
    state: State


@dataclass(slots=True)
class Runs:
    """All states that are reached, each with the step before it. Not `complete`: there are more than were looked at."""

    came_by: dict[State, tuple[State, str, Element] | None] = field(default_factory=dict)
    complete: bool = True

    def path(self, state: State) -> list[Step]:
        """A shortest run to a state."""
        steps: list[Step] = []
        while (before := self.came_by[state]) is not None:
            steps.append(Step(before[1], before[2], state))
            state = before[0]
        return steps[::-1]


def runs(flow: Flow, recovery: Recovery | None = None, most: int = MOST_STATES, start: State | None = None) -> Runs:
    """Every state that can be reached: with failures at any time and as often as one likes, or (None) without."""
    first = start or State((), (), flow.start())
    found = Runs({first: None})
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        for kind, element, following in _steps(flow, recovery, state):
            if following in found.came_by:
                continue
            if len(found.came_by) >= most:
                found.complete = False
                return found
            found.came_by[following] = (state, kind, element)
            waiting.append(following)
    return found


def _steps(flow: Flow, recovery: Recovery | None, state: State) -> Iterator[tuple[str, Element, State]]:
    entered, left, working = state
    for element in flow.enters(entered):
        yield "input", element, State(bag((*entered, element)), left, flow.entering(working, element))
    for element, rest in flow.leaves(working, left):
        yield "output", element, State(entered, (*left, element), rest)
    for following in flow.transforms(working, left):
        yield "transform", None, State(entered, left, following)
    for restored in recovery(entered, left) if recovery else ():
        yield "recovery", None, State(entered, left, restored)


class Observation(NamedTuple):
    """What a consumer knows when it is given an element: what had entered, what it was given before, and this."""

    entered: Bag
    seen: tuple[Element, ...]
    element: Element


def observations(flow: Flow, found: Runs) -> dict[Observation, State]:
    """Every element that may leave to the consumer, with what is known by then: P(b | A, B, F) > 0. Shortest first."""
    those: dict[Observation, State] = {}
    for state in found.came_by:
        seen = tuple(one for one in state.left if flow.is_seen(one))
        for element, _ in flow.leaves(state.working, state.left):
            if flow.is_seen(element):
                those.setdefault(Observation(state.entered, seen, element), state)
    return those
