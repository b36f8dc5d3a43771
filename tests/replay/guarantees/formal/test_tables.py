"""Tables I and II of seed 004 (delivery, consistency, determinism), as its prose tells their diagram.

Assumed diagram (Figure 1 is not in the text): one operation that keeps the last two letters in its state `s` and gives
them as `y`. Every letter comes on a channel of its own, so that the operation takes whatever of `x` it likes. The
recovery reads back the last snapshot and processes again what was given since, without giving it twice.

Table I's names here: A `State.entered`, B `State.left`, W `State.working`, D `Flow.transforms`, F `Fold.reprocessing`,
F* no recovery at all, P(b | A, B, F) > 0 `Observation` in `observations`, Cl_D and its inverse `Relation`.
"""

from __future__ import annotations

import pytest

from replay.guarantees.formal.definitions import exactly_once, is_consistent
from replay.guarantees.formal.flow import Bag, Element, State, bag, observations, runs
from replay.guarantees.formal.folding import DETERMINANT, Determinant, Entered, Fold, Given, Held, Saved, concatenation

LETTERS = "acbde"
A, C, B, D, E = (Entered(n, 0, letter) for n, letter in enumerate(LETTERS))
FLOW = Fold(tuple(LETTERS), concatenation(2), "", saves_after=frozenset({2}))
AFTER_AC = Held("ac", (A, C))

# (step, element) as in the rows of the table; a recovery has a row of its own.
TABLE_II: list[tuple[str, object]] = [
    ("input", A),
    ("input", C),
    ("transform", Held("a", (A,))),
    ("output", Given(0, "a")),
    ("transform", AFTER_AC),
    ("output", Given(1, "ac")),
    ("output", Saved(AFTER_AC)),
    ("input", B),
    ("input", D),
    ("transform", Held("cd", (A, C, D))),
    ("output", Given(2, "cd")),
    ("transform", Held("db", (A, C, D, B))),
    ("output", Given(3, "db")),
]


def follow(rows: list[tuple[str, object]]) -> State:
    """Every row must be a step that the model allows; a snapshot is taken in the step in which it leaves."""
    state = State((), (), FLOW.start())
    for kind, element in rows:
        entered, left, working = state
        assert isinstance(working, tuple)
        if kind == "input":
            assert element in set(FLOW.enters(entered))
            state = State(bag((*entered, element)), left, FLOW.entering(working, element))
        elif kind == "transform":
            found = [one for one in FLOW.transforms(working, left) if element in one]
            assert len(found) == 1, (kind, element)
            state = State(entered, left, found[0])
        else:
            ways = [working] if element in working else list(FLOW.transforms(working, left))
            rest = [after for way in ways for one, after in FLOW.leaves(way, left) if one == element]
            assert len(rest) == 1, (kind, element)
            state = State(entered, (*left, element), rest[0])
    return state


def held_after_recovery(state: State) -> set[tuple[object, Bag]]:
    return {
        (one.state, working)
        for working in FLOW.reprocessing(state.entered, state.left)
        for one in working
        if isinstance(one, Held)
    }


def seen(state: State) -> tuple[Element, ...]:
    return tuple(one for one in state.left if FLOW.is_seen(one))


def test_every_row_of_table_two_is_a_step_of_the_model() -> None:
    state = follow(TABLE_II)
    assert [one.value for one in seen(state) if isinstance(one, Given)] == ["a", "ac", "cd", "db"]
    assert state.working == (Held("db", (A, C, D, B)),)


def test_the_recovery_of_table_two_comes_to_db_or_to_bd() -> None:
    assert {text for text, _ in held_after_recovery(follow(TABLE_II))} == {"db", "bd"}


@pytest.mark.parametrize(("recovered", "given", "consistent"), [("db", "be", True), ("bd", "de", False)])
def test_be_is_consistent_with_what_left_before_and_de_is_not(recovered: str, given: str, consistent: bool) -> None:
    state = follow(TABLE_II)
    (working,) = (one for text, one in held_after_recovery(state) if text == recovered)
    waiting = FLOW.entering(working, E)
    after = State(bag((*state.entered, E)), state.left, waiting)
    (transformed,) = FLOW.transforms(waiting, after.left)
    ((element, _),) = FLOW.leaves(transformed, after.left)
    assert element == Given(4, given)
    decision = is_consistent(FLOW, after.entered, seen(after), element)
    assert decision.holds is consistent
    assert decision.how.startswith("proved by exhausting" if consistent else "refuted")


def test_the_wrong_recovery_is_found_among_all_that_may_follow_table_two() -> None:
    state = follow(TABLE_II)
    may_follow = observations(FLOW, runs(FLOW, FLOW.reprocessing, start=state))
    allowed = observations(FLOW, runs(FLOW))
    right = {one.element for one in may_follow if len(one.seen) == 4 and one in allowed}
    wrong = {one.element for one in may_follow if len(one.seen) == 4 and one not in allowed}
    assert right == {Given(4, "be")}
    assert Given(4, "de") in wrong


def test_with_the_order_held_by_a_survivor_the_recovery_comes_to_db_alone() -> None:
    flow = Fold(tuple(LETTERS), concatenation(2), "", first=DETERMINANT, saves_after=frozenset({2}))
    left = (*follow(TABLE_II).left, Determinant(2, D), Determinant(3, B))
    found = [one for working in flow.reprocessing(bag((A, C, B, D)), left) for one in working if isinstance(one, Held)]
    assert [one.state for one in found] == ["db"]


def test_three_letters_are_enough_to_refute_exactly_once_and_the_run_is_the_shortest() -> None:
    flow = Fold(("a", "c", "b"), concatenation(2), "", saves_after=frozenset({2}))
    decision = exactly_once(flow, flow.reprocessing)
    assert decision.holds is False and decision.against is not None
    assert [one.value for one in decision.against.seen if isinstance(one, Given)] == ["a"]
    assert [one.kind for one in decision.run].count("recovery") == 1
    assert decision.how == f"refuted by a run of {len(decision.run)} steps"
