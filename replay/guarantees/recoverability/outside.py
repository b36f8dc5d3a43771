"""The outside as a dependent: what it was given follows from all that the sink which gave it depended on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.guarantees.recoverability.course import Course
from replay.guarantees.recoverability.port import Depended, Place, Written
from replay.model import MAIN, WORLD

NO_LINEAGE = -1
"""The outside forgets nothing of what it saw: as a dependent it is one, whatever is rolled back."""


@dataclass(slots=True)
class Writes:
    """When one attempt of a sink gave something out, in order: at once, or by the epoch that it had waited for."""

    at_once: list[int] = field(default_factory=list)
    waited: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def first(self, t_us: int, epoch: int) -> int | None:
        """The first write that can follow from what was so at that time in that epoch."""
        those = (self.at_once, *(times for upto, times in self.waited.items() if upto >= epoch))
        return min((times[at] for times in those if (at := bisect_left(times, t_us)) < len(times)), default=None)


def first_seen(written: Iterable[Written]) -> dict[tuple[str, int], Writes]:
    """Of every sink's attempt, when it gave something out."""
    found: dict[tuple[str, int], Writes] = defaultdict(Writes)
    for one in sorted(written, key=lambda one: one.t_us):
        of_sink = found[one.task, one.attempt]
        (of_sink.waited[one.epoch] if one.waits else of_sink.at_once).append(one.t_us)
    return dict(found)


def depended_outside(depended: Iterable[Depended], written: Sequence[Written]) -> Iterator[Depended]:
    """From the first write after which a sink depended on something the outside does too, and it never forgets.

    Of the sink's own choices it certainly depends on those before the last take, as that is a place that is recorded.
    """
    reached: dict[tuple[str, int, int], int] = {}
    for one in sorted(written, key=lambda one: one.t_us):
        own = one.task, one.attempt, one.epoch
        if one.offset > reached.get(own, 0):
            reached[own] = one.offset
            yield Depended(WORLD, NO_LINEAGE, one.t_us, Place(one.task, MAIN, one.epoch), one.offset)
    writes = first_seen(written)
    for row in depended:
        those = writes.get((row.task, row.attempt))
        t_us = those.first(row.t_us, row.place.epoch) if those else None
        if t_us is not None:
            yield Depended(WORLD, NO_LINEAGE, t_us, row.place, row.upto)


def uncertain_us(written: Iterable[Written], course: Course, kept: Callable[[Place, int], int]) -> int:
    """When a sink first gave something out after which it may have chosen before it took again; -1: never."""
    those = (
        one.t_us
        for one in written
        if one.after > one.offset
        and course.stable_us(one.epoch) > one.t_us
        and one.after > kept(Place(one.task, MAIN, one.epoch), one.t_us)
    )
    return min(those, default=-1)


class Take(NamedTuple):
    """Something was taken from an input; the main log stood at `offset`, before what that added itself."""

    t_us: int
    offset: int
    input: int


class Stands:
    """Where one epoch of a main log stood whenever something was taken."""

    def __init__(self, takes: list[Take], length: int, orders: Mapping[int, tuple[int, int]]) -> None:
        takes.sort()
        self.times = [one.t_us for one in takes]
        self.before = [*(one.offset for one in takes), length]
        self.certain = [0]
        for one, following in zip(takes, self.before[1:], strict=True):
            # A barrier adds none: then the next take stands at the same offset.
            channel, size = orders.get(one.offset, (-1, 0))
            self.certain.append(one.offset + size if channel == one.input and following > one.offset else one.offset)

    def around(self, t_us: int) -> tuple[int, int]:
        """How far the log certainly went before that moment, and how far it certainly did not go past."""
        at = bisect_right(self.times, t_us)
        return self.certain[at], max(self.certain[at], self.before[at])
