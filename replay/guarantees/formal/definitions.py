"""Definitions 5 to 10, decided over all runs of a finite flow; where there are too many, over as many as are looked at.

Definition 8 is read with multisets: an input may be there several times. Definition 10 is read so that the one
element that can be observed next is certain. B is what the consumer was given, in its order, since every element of it
has its own τ; snapshots, and determinants that a survivor or the outside holds, are in B for the recovery to use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Protocol

from replay.guarantees.formal.flow import (
    MOST_STATES,
    Bag,
    Element,
    Flow,
    Observation,
    Recovery,
    Runs,
    Step,
    observations,
    runs,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """`holds` None: not refuted, but not all was looked at. `against`: what refutes it, at a shortest run's end."""

    holds: bool | None
    tried: int
    run: tuple[Step, ...] = ()
    against: Observation | None = None

    @property
    def how(self) -> str:
        """How it was decided, in words."""
        if self.holds is None:
            return f"no counterexample among {self.tried:,} tried"
        return (
            f"refuted by a run of {len(self.run)} steps" if not self.holds else f"proved by exhausting {self.tried:,}"
        )


class Resizable(Flow, Protocol):
    """A flow that can be given other inputs."""

    def inputs(self) -> tuple[Any, ...]:
        """All that may enter."""

    def with_inputs(self, elements: Any) -> Resizable:
        """The same over others."""


def is_consistent(
    flow: Flow, entered: Bag, seen: tuple[Element, ...], element: Element, most: int = MOST_STATES
) -> Decision:
    """Definition 5: whether an element may be observed, without failures, by who knows what entered and left before."""
    found = runs(flow, None, most)
    asked = Observation(entered, seen, element)
    there = asked in observations(flow, found)
    return Decision(
        True if there else False if found.complete else None, len(found.came_by), (), None if there else asked
    )


def exactly_once(flow: Flow, recovery: Recovery, most: int = MOST_STATES) -> Decision:
    """Definition 6: whatever may be observed may be observed without failures."""
    reference = runs(flow, None, most)
    allowed = observations(flow, reference)
    return _refuted_by(flow, recovery, most, reference, lambda one: one in allowed)


def at_most_once(flow: Resizable, recovery: Recovery, most: int = MOST_STATES) -> Decision:
    """Definition 7: it may be observed without failures by some of the inputs."""
    return _by_other_inputs(flow, recovery, most, _some_of)


def at_least_once(flow: Resizable, recovery: Recovery, most: int = MOST_STATES) -> Decision:
    """Definition 8: it may be observed without failures by the inputs, each of them once or several times.

    Of a flow that gives an element for each one that it takes: more copies than what was given help nobody.
    """
    return _by_other_inputs(flow, recovery, most, _repeated)


def is_deterministic(flow: Flow, most: int = MOST_STATES) -> Decision:
    """Definition 10: who knows what entered and left knows, without failures, what is observed next."""
    found = runs(flow, None, most)
    known: dict[tuple[Bag, tuple[Element, ...]], Observation] = {}
    for one, state in observations(flow, found).items():
        other = known.setdefault((one.entered, one.seen), one)
        if other != one:
            return Decision(False, len(found.came_by), tuple(found.path(state)), one)
    return Decision(True if found.complete else None, len(found.came_by))


@dataclass(frozen=True, slots=True)
class DoNotCommute:
    """x then y comes to one state, y then x to another."""

    state: Hashable
    x: Hashable
    y: Hashable
    s1: Hashable
    s2: Hashable


def non_commutative(
    operation: Callable[[Any, Any], tuple[Hashable, Hashable]], states: Iterable[Hashable], values: Iterable[Hashable]
) -> DoNotCommute | None:
    """Definition 9: a pair of elements whose order the operation's result tells, from one of the states."""
    values = list(values)
    for state in states:
        for x, y in combinations(values, 2):
            s1 = operation(operation(state, x)[0], y)[0]
            s2 = operation(operation(state, y)[0], x)[0]
            if s1 != s2:
                return DoNotCommute(state, x, y, s1, s2)
    return None


def _refuted_by(
    flow: Flow, recovery: Recovery, most: int, reference: Runs, allowed: Callable[[Observation], bool]
) -> Decision:
    found = runs(flow, recovery, most)
    tried = len(found.came_by) + len(reference.came_by)
    for one, state in observations(flow, found).items():
        if not allowed(one):
            # An element that the reference was not followed far enough for is not refuted.
            return Decision(False if reference.complete else None, tried, tuple(found.path(state)), one)
    return Decision(True if found.complete and reference.complete else None, tried)


def _by_other_inputs(
    flow: Resizable, recovery: Recovery, most: int, others: Callable[[Bag, int], Iterator[tuple[Any, ...]]]
) -> Decision:
    """Which inputs are taken to be lost, or to be there again, may depend on what was observed."""
    found = runs(flow, recovery, most)
    tried, complete = len(found.came_by), found.complete
    known: dict[tuple[Any, ...], set[tuple[tuple[Element, ...], Element]]] = {}
    for one, state in observations(flow, found).items():
        for other in others(one.entered, len(one.seen) + 1):
            if other not in known:
                reference = runs(flow.with_inputs(other), None, most)
                tried, complete = tried + len(reference.came_by), complete and reference.complete
                those = observations(flow, reference)
                known[other] = {(each.seen, each.element) for each in those if len(each.entered) == len(other)}
            if (one.seen, one.element) in known[other]:
                break
        else:
            return Decision(False if complete else None, tried, tuple(found.path(state)), one)
    return Decision(True if complete else None, tried)


def _some_of(entered: Bag, given: int) -> Iterator[tuple[Any, ...]]:
    for count in range(len(entered), -1, -1):
        yield from combinations(entered, count)


def _repeated(entered: Bag, given: int) -> Iterator[tuple[Any, ...]]:
    for counts in product(range(1, given + 1), repeat=len(entered)):
        if sum(counts) < len(entered) + given:
            yield tuple(one._replace(copy=n) for one, count in zip(entered, counts, strict=True) for n in range(count))
