"""Timers: what is set, what is next, and the same again from a snapshot; held against a plain list."""

from __future__ import annotations

import json
from random import Random

import pytest

from replay.errors import InvariantError
from replay.runtime.body.timers import EVENT_QUEUE, Timers
from replay.runtime.operators import Timer


def timers() -> tuple[Timers, list[tuple[str, int]]]:
    changed: list[tuple[str, int]] = []
    return Timers(lambda callback, at_ms: changed.append((callback, at_ms))), changed


def taken(one: Timers, callback: str, upto_ms: int) -> list[Timer]:
    found = []
    while (timer := one.take_due(callback, upto_ms)) is not None:
        found.append(timer)
    return found


def test_timers_of_one_name_are_taken_by_time_and_then_in_the_order_set() -> None:
    one, _ = timers()
    for at_ms, key in ((7, "a"), (5, "b"), (7, "c"), (5, "d"), (9, "e")):
        one.set(Timer(at_ms, "n", key))
    one.set(Timer(1, "other", "x"))
    assert [timer.key for timer in taken(one, "internal:n", 7)] == ["b", "d", "a", "c"]
    assert one.next_ms("internal:n") == 9 and one.next_ms("internal:other") == 1


def test_an_equal_timer_is_set_once_and_one_with_another_field_is_another() -> None:
    one, _ = timers()
    same = Timer(5, "n", ["k", 1], {"a": 2})
    one.set(same)
    one.set(Timer(5, "n", ["k", 1], {"a": 2}))
    for other in (Timer(6, "n", ["k", 1], {"a": 2}), Timer(5, "n", ["k", 2], {"a": 2}), Timer(5, "n", ["k", 1])):
        one.set(other)
    assert len(one) == 4
    one.cancel(Timer(5, "n", ["k", 1], {"a": 2}))
    assert len(one) == 3 and same not in taken(one, "internal:n", 9)


def test_numbers_and_texts_are_different_keys() -> None:
    one, _ = timers()
    for key in ("1", 1, 1.0, True, None, [1]):
        one.set(Timer(5, key=key))
    assert len(one) == 6


def test_only_a_timer_that_comes_first_is_told_and_event_time_never_is() -> None:
    one, changed = timers()
    one.set(Timer(5))
    one.set(Timer(9))
    one.set(Timer(3))
    one.set(Timer(1, time="event"))
    assert changed == [("internal:", 5), ("internal:", 3)]
    assert one.awaiting() == [("internal:", 3)]
    assert [timer.at_ms for timer in taken(one, EVENT_QUEUE, 4)] == [1]


@pytest.mark.parametrize("seed", range(30))
def test_timers_do_what_a_plain_list_does(seed: int) -> None:
    draw, (one, _) = Random(seed), timers()
    listed: list[Timer] = []
    for _ in range(400):
        timer = Timer(
            draw.randrange(60), draw.choice("ab"), draw.randrange(4), time=draw.choice(("event", "processing"))
        )
        match draw.randrange(4):
            case 0 | 1:
                one.set(timer)
                listed += [timer] if timer not in listed else []
            case 2:
                one.cancel(timer)
                listed = [other for other in listed if other != timer]
            case _:
                upto = draw.randrange(30)
                queue, time, names = draw.choice(
                    (("internal:a", "processing", "a"), ("internal:b", "processing", "b"), ("event", "event", "ab"))
                )
                due = [t for t in listed if t.time == time and t.name in names and t.at_ms <= upto]
                assert taken(one, queue, upto) == sorted(due, key=lambda t: t.at_ms), f"seed {seed}"
                listed = [t for t in listed if t not in due]
        if draw.random() < 0.05:
            restored, _ = timers()
            restored.restore(json.loads(json.dumps(one.snapshot())))
            assert restored.snapshot() == one.snapshot(), f"seed {seed}"
            one = restored
    assert len(one) == len(listed)


def test_a_snapshot_does_not_tell_what_was_set_and_fired_before() -> None:
    old, _ = timers()
    for at_ms in range(20):
        old.set(Timer(at_ms))
    taken(old, "internal:", 17)
    new, _ = timers()
    new.set(Timer(18))
    new.set(Timer(19))
    assert old.snapshot() == new.snapshot()
    assert new.snapshot()[0] == {
        "at_ms": 18, "callback": "internal:", "name": "", "key": "", "namespace": "", "period_ms": 0, "order": 0,
    }  # fmt: skip


def test_cancelled_timers_do_not_pile_up() -> None:
    one, _ = timers()
    for n in range(10_000):
        one.set(Timer(1_000_000 + n))
        one.cancel(Timer(1_000_000 + n))
    assert len(one._queues["internal:"]._heap) < 200


def test_the_clocks_own_name_and_unknown_times_are_refused() -> None:
    one, _ = timers()
    with pytest.raises(InvariantError, match="periodic clock"):
        one.set(Timer(5, "time"))
    with pytest.raises(InvariantError, match="processing or event"):
        one.set(Timer(5, time="ingestion"))
    one.set(Timer(5, "time", time="event"))
