"""The world outside: seeded, of another mind when it is asked again, at fault now and then; it counts what it did."""

from __future__ import annotations

from typing import Any

import pytest

from replay.runtime.outside.externals import Asked, Externals
from replay.services import ExternalFault


def answers(seed: int, times: int) -> list[Any]:
    world = Externals(seed, {})
    found: list[Any] = []
    for _ in range(times):
        try:
            found.append(world.ask("lookup", {"of": 1}, "read"))
        except ExternalFault as fault:
            found.append(str(fault))
    return found


def test_the_same_seed_answers_the_same_and_never_twice_alike() -> None:
    assert answers(1, 60) == answers(1, 60) != answers(2, 60)
    given = [str(answer) for answer in answers(1, 60)]
    assert len(set(given)) == 60
    assert any(answer.startswith("Unavailable: ") for answer in given)


def test_a_service_of_ones_own_is_told_how_often_it_was_asked_the_same() -> None:
    asked: list[tuple[Any, int]] = []

    def told(one: Asked) -> Any:
        asked.append((one.request, one.nth))
        return one.nth

    world = Externals(1, {"told": told})
    assert [world.ask("told", request, "read") for request in ("a", "b", "a")] == [0, 0, 1]
    assert asked == [("a", 0), ("b", 0), ("a", 1)]


def test_calls_with_an_effect_are_counted_also_where_they_fail() -> None:
    def broken(one: Asked) -> Any:
        raise ExternalFault("Broken", "always")

    world = Externals(1, {"broken": broken, "pay": lambda one: "paid"})
    for _ in range(3):
        world.ask("pay", {"order": 7}, "write")
    world.ask("pay", {"order": 8}, "write")
    world.ask("pay", {"order": 7}, "read")
    with pytest.raises(ExternalFault):
        world.ask("broken", None, "write")
    assert (world.calls, world.faults, world.repeated_writes) == (6, 1, 2)
    assert sum(world.writes.values()) == 5
