"""Two executions side by side: what stands for a value, the first call that moved, and the line that did it."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from replay.debugger.hunting.canonical import TooLarge, canonical
from replay.debugger.hunting.line_trace import LineTrace, moving_line
from replay.debugger.hunting.movement import first_moved


@dataclass(slots=True)
class Slotted:
    one: Any
    other: Any = None


class Plain:
    def __init__(self, **fields: Any):
        self.__dict__.update(fields)


PAIRS = [
    (1, 2), (1, True), ("a", b"a"), ([1, 2], [2, 1]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ((), []), (None, 0),
    (date(2026, 1, 1), date(2026, 1, 2)), (Decimal("1.0"), Decimal("1")), (Slotted(1), Slotted(2)),
    (Plain(a=1), Plain(a=2)), (deque([1]), deque([2])), ({1: {2: [3]}}, {1: {2: [4]}}), ("ab", ["a", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{n}-{type(one).__name__}" for n, (one, _) in enumerate(PAIRS)])
def test_different_values_are_told_apart(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)
    assert canonical([one, {"k": other}]) == canonical([one, {"k": other}])


def test_the_order_of_a_set_and_addresses_do_not_count() -> None:
    words = [f"word {n}" for n in range(50)]
    draw = Random(3)
    sets = []
    for _ in range(5):
        draw.shuffle(words)
        sets.append(canonical({"words": set(words), "inner": frozenset({(one, 1) for one in words})}))
    assert len(set(sets)) == 1
    assert canonical([object(), Plain(f=len), lambda: 1]) == canonical([object(), Plain(f=len), lambda: 2])


def test_circles_and_depths_end_and_what_is_too_large_is_said() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert canonical(ring) == canonical(ring)
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    assert canonical(deep)
    with pytest.raises(TooLarge):
        canonical(list(range(10_000)), most_nodes=100)


def note(call: int, gave: list[tuple[str, str]], state: str | None = "s", **more: Any) -> dict[str, Any]:
    at = [1, call]
    return {"call": call, "element": call, "method": "on_record", "at": at, "gave": gave, "is": state, **more}


@pytest.mark.parametrize("since", [1, 2, 4])
def test_the_first_call_that_gave_something_else_is_named_and_where_it_was_another_one_first(since: int) -> None:
    usual = [*(note(n, [("a>b", "x")]) for n in range(6)), {"end": ""}]
    assert first_moved(usual, usual) is None
    other = [{**one, "is": "t"} if since <= one.get("call", -1) < 4 else one for one in usual]
    other[4] = note(4, [("a>b", "y")], "t")
    found = first_moved(usual, other)
    assert found is not None and (found.call, found.since, found.where) == (4, since, "a>b")


def test_an_operator_that_was_another_one_for_a_while_did_not_begin_there() -> None:
    usual = [*(note(n, [("a>b", "x")]) for n in range(6)), {"end": ""}]
    other = [{**one, "is": "t"} if one.get("call") == 1 else one for one in usual]
    other[5] = note(5, [("a>b", "y")])
    found = first_moved(usual, other)
    assert found is not None and (found.call, found.since) == (5, 5)


def test_an_execution_that_ends_early_moved_there() -> None:
    usual = [*(note(n, []) for n in range(3)), {"end": ""}]
    found = first_moved(usual, [*usual[:2], {"end": "the log holds nothing more"}])
    assert found is not None and (found.call, found.where) == (1, "where it ends")
    assert found.ended == "the log holds nothing more"


# --- lines ---


class Made:
    """Each method does what moves on the line that is marked with its name."""

    kept = ""

    def returned(self, moved: str) -> str:
        return READ[0]  # here: returned

    def a_local(self, moved: str) -> str:
        before = 1
        found = READ[0]  # here: a_local
        after = before + 1
        return found * after

    def a_loop(self, moved: str) -> str:
        found = ""
        for one in READ[0]:  # here: a_loop
            found += one
        return found

    def a_branch(self, moved: str) -> str:
        if READ[0] == "ab":  # here: a_branch
            return "yes"
        return "no"

    def an_attribute(self, moved: str) -> str:
        self.kept = READ[0]  # here: an_attribute
        return "same"

    def an_argument(self, moved: str) -> str:
        return self.pass_on(READ[0])  # here: an_argument

    def inside(self, moved: str) -> str:
        return self.pass_on(self.read())

    def read(self) -> str:
        return READ[0]  # here: inside

    def pass_on(self, value: str) -> str:
        return value


READ = [""]


def followed(method: str, value: str) -> LineTrace:
    READ[0] = value
    trace = LineTrace(lambda module: module == __name__)
    made, before = Made(), sys.gettrace()
    with trace.following():
        getattr(made, method)("")
    assert sys.gettrace() is before
    # What was read stands in the module, and not in the operator: it is no value of its lines.
    return trace


@pytest.mark.parametrize(
    "method", [name for name in vars(Made) if name[0] != "_" and name not in ("kept", "read", "pass_on")]
)
def test_the_line_that_moved_is_named(method: str) -> None:
    line = moving_line(followed(method, "ab").events, followed(method, "ba").events)
    with open(__file__, encoding="utf-8") as file:
        text = file.read().splitlines()
    assert line is not None and text[line[1] - 1].endswith(f"# here: {method}")
    assert moving_line(followed(method, "ab").events, followed(method, "ab").events) is None
