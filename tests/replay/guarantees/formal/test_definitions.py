"""Definitions 6 to 10 over all runs of small flows, and theorem 1 against them."""

from __future__ import annotations

from itertools import product

import pytest

from replay.guarantees.formal.closure import Relation
from replay.guarantees.formal.definitions import (
    at_least_once,
    at_most_once,
    exactly_once,
    is_deterministic,
    non_commutative,
)
from replay.guarantees.formal.flow import Bag, Element, bag, observations, runs
from replay.guarantees.formal.folding import (
    DETERMINANT,
    NOTHING,
    SNAPSHOT,
    Entered,
    Fold,
    Given,
    Held,
    addition,
    concatenation,
)

EVERY = frozenset(range(1, 6))


def concat(first: str = NOTHING, *, ordered: bool = False, saves: frozenset[int] = EVERY) -> Fold:
    return Fold(("a", "b", "c"), concatenation(2), "", first=first, ordered=ordered, saves_after=saves)


@pytest.mark.parametrize(("first", "holds"), [(NOTHING, False), (DETERMINANT, True), (SNAPSHOT, True)])
def test_a_result_that_does_not_commute_must_be_recoverable_before_what_depends_on_it_leaves(
    first: str, holds: bool
) -> None:
    """Theorem 1, both ways: the same flow, with what must have left before."""
    flow = concat(first, saves=frozenset({2}) if first == DETERMINANT else EVERY)
    assert is_deterministic(flow).holds is False
    decision = exactly_once(flow, flow.reprocessing)
    assert decision.holds is holds, decision.how
    assert bool(decision.run) is not holds


def test_a_deterministic_system_needs_no_snapshot_before_it_delivers() -> None:
    flow = concat(ordered=True, saves=frozenset({2}))
    assert is_deterministic(flow).holds is True
    assert exactly_once(flow, flow.reprocessing).holds is True


def test_where_elements_commute_any_order_will_do() -> None:
    flow = Fold((1, 2, 3), addition, 0)
    assert exactly_once(flow, flow.reprocessing).holds is True
    assert at_least_once(flow, flow.reprocessing).holds is True


def test_losing_what_was_not_given_yet_is_at_most_once_and_no_more() -> None:
    """One channel, so that a gap shows: c after a, where b had come between them."""
    flow = Fold(("a", "b", "c"), concatenation(1), "", ordered=True)

    def lose(entered: Bag, left: tuple[Element, ...]) -> list[Bag]:
        return [(Held("", tuple(entered)[: len(left)]),)]

    exactly = exactly_once(flow, lose)
    assert exactly.holds is False and exactly.against is not None
    assert (len(exactly.against.entered), exactly.against.element) == (2, Given(0, "b"))
    assert at_most_once(flow, lose).holds is True
    assert at_least_once(flow, lose).holds is False


def test_giving_again_what_was_given_is_at_least_once_and_no_more() -> None:
    flow = Fold(("a", "b"), concatenation(1), "")

    def again(entered: Bag, left: tuple[Element, ...]) -> list[Bag]:
        """From the beginning; places go on, as consumers don't know of it; not for ever, so that all is looked at."""
        done = tuple(Entered(9, n, "") for n in range(len(left)))
        return [bag((*entered, Held("", done)))] if len(left) <= 2 else []

    exactly = exactly_once(flow, again)
    assert exactly.holds is False and exactly.against is not None
    assert [one.value for one in (*exactly.against.seen, exactly.against.element) if isinstance(one, Given)] == [
        "a"
    ] * 2
    assert at_least_once(flow, again).holds is True
    assert at_most_once(flow, again).holds is False


def test_too_few_states_leave_it_undecided_and_say_so() -> None:
    flow = concat(SNAPSHOT)
    decision = exactly_once(flow, flow.reprocessing, most=300)
    assert decision.holds is None
    assert decision.how == f"no counterexample among {decision.tried:,} tried"


def test_without_failures_everything_that_is_observed_is_a_chain_of_what_came() -> None:
    flow = concat()
    for one in observations(flow, runs(flow)):
        text = "".join(str(each.value)[-1] for each in (*one.seen, one.element) if isinstance(each, Given))
        assert len(set(text)) == len(text) <= len(one.entered)


@pytest.mark.parametrize("letters", list(product("ab", repeat=3)))
def test_concatenation_does_not_commute_and_addition_does(letters: tuple[str, ...]) -> None:
    found = non_commutative(concatenation(2), ["", "x"], letters)
    if len(set(letters)) == 1:
        assert found is None
    else:
        assert found is not None and found.s1 == str(found.s2)[::-1]
    assert non_commutative(addition, range(3), range(4)) is None


def test_the_condition_of_theorem_one_holds_where_all_leads_through_what_left_first() -> None:
    """Figure 2: x and y make s; the first element that left is s saved, the second is made of what follows from it."""
    relation = Relation()
    relation.add(["a"], ["x", "y"])
    relation.add(["x", "y"], ["s"])
    relation.add(["s"], ["b1"])
    relation.add(["b1"], ["b2"])
    assert relation.closure("s") == {"s", "b1", "b2"}
    assert relation.inverse("s") == {"a", "x", "y", "s"}
    assert relation.leads_past("s", "b1", "b2") is None
    relation.add(["s"], ["t"])
    relation.add(["t"], ["b2"])
    assert relation.leads_past("s", "b1", "b2") == ("t", "b2")
