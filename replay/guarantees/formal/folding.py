"""One operation over inputs that come in any order: the flow of the paper's examples, and its ways to recover.

Its state is what the operation made of the elements so far; each one makes it give an element. What must have left
before that (nothing, the determinant of the order, a snapshot) is the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, NamedTuple

from replay.guarantees.formal.flow import Bag, Element, bag, without


class Entered(NamedTuple):
    """An input element: which one, which copy of it, and what it is."""

    number: int
    copy: int
    value: Hashable


class Held(NamedTuple):
    """The operation's state, and what it is made of, in that order."""

    state: Hashable
    of: tuple[Entered, ...]


class Given(NamedTuple):
    """What the operation gave for its `place`-th element."""

    place: int
    value: Hashable


class Determinant(NamedTuple):
    """Which element was the `place`-th: held by a survivor, or outside."""

    place: int
    element: Entered


class Saved(NamedTuple):
    """A snapshot, read back in a recovery."""

    held: Held


Operation = Callable[[Any, Any], tuple[Hashable, Hashable]]
"""From a state and a value to the state and the value that it gives."""


def concatenation(window: int) -> Operation:
    """The last so many letters, one behind the other."""

    def put(state: str, letter: str) -> tuple[Hashable, Hashable]:
        text = (state + letter)[-window:]
        return text, text

    return put


def addition(state: int, value: int) -> tuple[Hashable, Hashable]:
    """A sum that gives nothing but that it has taken something: its elements commute."""
    return state + value, "taken"


NOTHING, DETERMINANT, SNAPSHOT = "nothing", "determinant", "snapshot"


@dataclass(frozen=True)
class Fold:
    """`first`: what must have left before an element that depends on it may. `ordered`: one after the other, by number.

    `saves_after`: a snapshot is taken when so many elements are in the state.
    """

    values: tuple[Hashable, ...]
    operation: Operation
    initial: Hashable
    first: str = NOTHING
    ordered: bool = False
    saves_after: frozenset[int] = frozenset()
    elements: tuple[Entered, ...] = ()

    def inputs(self) -> tuple[Entered, ...]:
        """All that may enter."""
        return self.elements or tuple(Entered(n, 0, value) for n, value in enumerate(self.values))

    def with_inputs(self, elements: Sequence[Entered]) -> Fold:
        """The same flow over other inputs: fewer, or some of them twice."""
        return replace(self, values=(), elements=tuple(elements))

    # --- as a flow ---

    def start(self) -> Bag:
        """The empty state."""
        return (Held(self.initial, ()),)

    def enters(self, entered: Bag) -> Iterator[Element]:
        """Each element has a channel of its own; where they are ordered, all have one."""
        left = sorted(one for one in self.inputs() if one not in entered) if self.ordered else self.inputs()
        return (one for one in left[: 1 if self.ordered else None] if one not in entered)

    def entering(self, working: Bag, element: Element) -> Bag:
        """It waits for the operation."""
        return bag((*working, element))

    def transforms(self, working: Bag, left: tuple[Element, ...]) -> Iterator[Bag]:
        """The operation takes an element; a snapshot is taken."""
        held = held_in(working)
        for element in self._ready(working):
            yield bag((*without(working, (held, element)), *self._made(held, element)))
        if len(held.of) in self.saves_after and not any(isinstance(one, Saved) and one.held == held for one in left):
            saved = Saved(held)
            if saved not in working:
                yield bag((*working, saved))

    def leaves(self, working: Bag, left: tuple[Element, ...]) -> Iterator[tuple[Element, Bag]]:
        """Determinants and snapshots at any time; what was given in its order, once what must precede it has left."""
        held = held_in(working)
        given = [one for one in working if isinstance(one, Given)]
        following = min(given, key=lambda one: one.place, default=None)
        for element in working:
            if isinstance(element, (Determinant, Saved)) or (
                element == following and self._may_leave(following, held, left)
            ):
                yield element, without(working, (element,))

    def is_seen(self, element: Element) -> bool:
        """What was given."""
        return isinstance(element, Given)

    def _ready(self, working: Bag) -> Iterator[Entered]:
        waiting = [one for one in working if isinstance(one, Entered)]
        yield from sorted(waiting)[:1] if self.ordered else waiting

    def _made(self, held: Held, element: Entered) -> Iterator[Element]:
        state, value = self.operation(held.state, element.value)
        place = len(held.of)
        yield Held(state, (*held.of, element))
        yield Given(place, value)
        if self.first == DETERMINANT:
            yield Determinant(place, element)

    def _may_leave(self, one: Given, held: Held, left: tuple[Element, ...]) -> bool:
        if self.first == DETERMINANT:
            return any(isinstance(each, Determinant) and each.place == one.place for each in left)
        if self.first == SNAPSHOT:
            return any(isinstance(each, Saved) and len(each.held.of) > one.place for each in left)
        return True

    # --- as a recovery ---

    def reprocessing(self, entered: Bag, left: tuple[Element, ...]) -> Iterator[Bag]:
        """F: the last snapshot, then what was given since again and not given twice: by determinants as far as there
        are any, else in any order; what is left over waits."""
        saved = [one.held for one in left if isinstance(one, Saved)]
        held = max(saved, key=lambda one: len(one.of), default=Held(self.initial, ()))
        given = sum(self.is_seen(one) for one in left)
        named = {one.place: one.element for one in left if isinstance(one, Determinant)}
        found = set()
        rest = [one for one in entered if one not in held.of]
        again = max(0, max(given, max(named, default=-1) + 1) - len(held.of))
        for order in permutations(rest, min(again, len(rest))):
            if all(named.get(len(held.of) + n, one) == one for n, one in enumerate(order)) and self._in_order(
                held, order
            ):
                found.add(self._restored(held, order, rest, given))
        yield from sorted(found, key=repr)

    def _in_order(self, held: Held, order: tuple[Entered, ...]) -> bool:
        following = sorted(one for one in self.inputs() if one not in held.of)
        return not self.ordered or list(order) == following[: len(order)]

    def _restored(self, held: Held, order: Iterable[Entered], rest: list[Entered], given: int) -> Bag:
        working: list[Element] = []
        left_over = list(rest)
        # What the snapshot holds and was not given yet is given now: it is read back with the state.
        replayed = Held(self.initial, ())
        for place, element in enumerate((*held.of, *order)):
            state, value = self.operation(replayed.state, element.value)
            replayed = Held(state, (*replayed.of, element))
            if place >= given:
                working.append(Given(place, value))
            if element in left_over:
                left_over.remove(element)
        return bag((*working, *left_over, replayed))


def held_in(working: Bag) -> Held:
    """The state among the elements."""
    return next(one for one in working if isinstance(one, Held))
