"""Executions of one input side by side: where they made something else of it, and whether they had taken it in the
same order. And what one execution shows by itself: records that were made of several."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice

from replay.errors import printable
from replay.guarantees.recovery_types.classes import Against
from replay.guarantees.recovery_types.executions import Executed, Input, Names, Output

MOST_UNKNOWN = 1_000
"""More records than this whose source records came in together with no other are not looked for in what came in."""


def against(old: Executed, new: Executed) -> Iterator[Against]:
    """Both from one state on. What one of them took beyond the other says nothing, nor what was cut off at an end."""
    shared = _shared(old, new)
    first, second, once = old.given(), new.given(), _once(old)
    for number, one in enumerate(old.inputs):
        if one.names not in once or one.place[1] >= shared[one.place[0]]:
            continue
        before, after = first.get(one.names, Counter()), second.get(one.names, Counter())
        if not (before - after and after - before):
            continue
        evidence = _where(old, one, before - after), _where(new, one, after - before)
        said = f"attempts {old.attempt} and {new.attempt} of {printable(old.task)} made something else of one record"
        yield _by_order(_order(old, number + 1) == _order(new, number + 1), said, evidence)


def against_states(old: Executed, new: Executed, checkpoint: int, states: tuple[object, object]) -> Iterator[Against]:
    """Both took a snapshot of one checkpoint, and had taken the same by then."""
    if states[0] == states[1]:
        return
    taken = [[each for each in one.inputs if each.epoch < checkpoint] for one in (old, new)]
    if any(_of(taken[0], i) != _of(taken[1], i) for i in {one.place[0] for each in taken for one in each}):
        return
    evidence = tuple(f"state:{one.task}/{one.attempt}/{checkpoint}" for one in (old, new))
    said = f"attempts {old.attempt} and {new.attempt} of {printable(old.task)} came to states that are not the same"
    yield _by_order([one.what for one in taken[0]] == [one.what for one in taken[1]], said, evidence)


def _of(inputs: list[Input], i: int) -> list[bytes]:
    return [one.what for one in inputs if one.place[0] == i]


def _by_order(same_order: bool, said: str, evidence: tuple[str, ...]) -> Against:
    if same_order:
        return Against("delivery-dependent", f"{said}, having taken the same in the same order", evidence)
    return Against("deterministic", f"{said}, having taken the same in another order", evidence)


def _order(one: Executed, upto: int) -> list[bytes]:
    return [each.what for each in one.inputs[:upto]]


def _shared(old: Executed, new: Executed) -> dict[int, int]:
    """Of each input how many elements are the same, from the first on."""
    found = {}
    for i in {one.place[0] for one in old.inputs}:
        pairs = zip(old.of_channel(i), new.of_channel(i), strict=False)
        agree = 0
        for one, other in pairs:
            if one.what != other.what:
                break
            agree += 1
        found[i] = agree
    return found


def _once(one: Executed) -> set[Names]:
    """Of what names the same source records as another nobody knows which of them it was."""
    counts = Counter(each.names for each in one.inputs if each.names)
    return {names for names, count in counts.items() if count == 1}


def _where(one: Executed, element: Input, which: Counter[bytes]) -> str:
    return next(each.evidence for each in one.outputs if each.names == element.names and each.what in which)


# --- one execution ---


def of_one(one: Executed) -> Iterator[Against]:
    """What came of several records, or of two that are the same and came out otherwise."""
    yield from _of_several(one)
    yield from _of_equals(one)


def _of_several(one: Executed) -> Iterator[Against]:
    known = {each.names for each in one.inputs if each.names}
    having: dict[tuple[str, int], set[Names]] = defaultdict(set)
    for names in known:
        for name in names:
            having[name].add(names)
    unknown = (each for each in one.outputs if each.names and each.names not in known)
    for each in islice(unknown, MOST_UNKNOWN):
        of = {names for name in each.names for names in having.get(name, ()) if names <= each.names}
        if len(of) > 1:
            yield Against("repeatable", f"{printable(one.task)} made a record of {len(of):,}", (each.evidence,))
            return


def _of_equals(one: Executed) -> Iterator[Against]:
    made: dict[Names, list[Output]] = defaultdict(list)
    for each in one.outputs:
        made[each.names].append(each)
    once, equals = _once(one), dict[bytes, Input]()
    for element in one.inputs:
        if element.names not in once or element.names not in made:
            continue
        other = equals.setdefault(element.plain, element)
        first, second = made[other.names], made[element.names]
        if len(first) == len(second) and {each.plain for each in first} != {each.plain for each in second}:
            said = f"{printable(one.task)} made something else of two records that are the same"
            yield Against("repeatable", said, (first[0].evidence, second[0].evidence))
            return
