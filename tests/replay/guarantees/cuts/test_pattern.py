"""Lines, graphs and Z-paths of small random patterns, against trying out every line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise, product

import pytest

from replay.guarantees.cuts.pattern import Line, Message, Pattern, line_by_checkpoints, line_by_dependencies
from replay.guarantees.cuts.zigzag import z_cycles, z_path

SEEDS = range(150)


def random_pattern(seed: int) -> Pattern:
    """What could have happened: processes take turns to send, receive and take checkpoints."""
    draw = random.Random(seed)
    names = [f"p{n}" for n in range(draw.randint(2, 4))]
    interval = dict.fromkeys(names, 1)
    on_the_way: list[Message] = []
    done: list[Message] = []
    for n in range(draw.randint(4, 22)):
        process, what = draw.choice(names), draw.random()
        if what < 0.3:
            interval[process] += 1
        elif what < 0.65 or not on_the_way:
            to = draw.choice([one for one in names if one != process])
            on_the_way.append(Message(f"m{n}", process, interval[process], to, None))
        else:
            one = on_the_way.pop(draw.randrange(len(on_the_way)))
            done.append(Message(one.name, one.sender, one.sent, one.receiver, interval[one.receiver]))
    return Pattern({name: interval[name] - 1 for name in names}, (*done, *on_the_way))


def lines(pattern: Pattern, upto: Line) -> Iterator[Line]:
    for places in product(*(range(upto[name] + 1) for name in pattern.last)):
        yield dict(zip(pattern.last, places, strict=True))


def by_trying(pattern: Pattern, start: Line) -> Line:
    """The union of all consistent lines below the start."""
    found = [line for line in lines(pattern, start) if not _orphan(pattern, line)]
    return {name: max(line[name] for line in found) for name in pattern.last}


def _orphan(pattern: Pattern, line: Line) -> bool:
    return any(
        one.received is not None and line[one.receiver] >= one.received and line[one.sender] < one.sent
        for one in pattern.messages
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_recovery_line_is_the_latest_consistent_one_by_three_ways(seed: int) -> None:
    pattern, draw = random_pattern(seed), random.Random(-seed)
    failed = [name for name in pattern.last if draw.random() < 0.5]
    start = pattern.current(failed)
    expected = by_trying(pattern, start)
    assert pattern.recovery_line(start) == expected, seed
    assert line_by_dependencies(pattern, start) == expected, seed
    assert line_by_checkpoints(pattern, start) == expected, seed
    assert pattern.is_consistent(expected), seed
    passed = pattern.passed(start, expected)
    assert all(passed[one] >= 0 for one in passed), seed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_checkpoint_is_on_a_z_cycle_where_no_consistent_line_has_it(seed: int) -> None:
    pattern = random_pattern(seed)
    whole = {name: last + 1 for name, last in pattern.last.items()}
    there = {(name, at) for line in lines(pattern, whole) if not _orphan(pattern, line) for name, at in line.items()}
    every = {(name, at) for name, last in pattern.last.items() for at in range(last + 1)}
    cycles = z_cycles(pattern)
    assert set(cycles) == every - there, seed
    for (name, at), path in cycles.items():
        assert path[0].sender == path[-1].receiver == name
        assert path[0].sent > at >= (path[-1].received or 0)
        for one, following in pairwise(path):
            assert one.receiver == following.sender and following.sent >= (one.received or 0), seed


def test_a_message_on_its_way_is_no_orphan() -> None:
    pattern = Pattern({"p": 1, "q": 1}, (Message("m", "p", 1, "q", None),))
    assert pattern.is_consistent({"p": 1, "q": 1})
    assert [one.name for one in pattern.in_transit({"p": 1, "q": 1})] == ["m"]
    assert z_path(pattern, ("p", 0), ("q", 1)) is None
