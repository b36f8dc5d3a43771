"""Passing on: copies of one task's logs at one receiver, and what a relay that has them puts on each sending."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from replay.model import Thread

Place = tuple[Thread, int]
"""(thread, epoch) of the task's logs."""


class Extent(NamedTuple):
    """Bytes of a log, without the bytes; `attempt` of the task had them appended."""

    thread: Thread
    epoch: int
    offset: int
    upto: int
    attempt: int


class Growth(NamedTuple):
    """From the arrival of that number on, at `t_us`, a copy was `upto` bytes long; `attempt` of the task had the last
    of them appended."""

    arrival: int
    t_us: int
    place: Place
    upto: int
    attempt: int


class Copies:
    """How far one attempt of a holder has the logs of a task, and how it came so far."""

    __slots__ = ("_ends", "_told", "_upto", "grown")

    def __init__(self) -> None:
        self.grown: list[Growth] = []
        self._upto: dict[Place, int] = {}
        # By log, to tell whose bytes a relay passes on: ends of the growths, and attempts beside them.
        self._ends: dict[Place, tuple[list[int], list[int]]] = {}
        # By log and attempt of the task, also of what was here already: (t_us, upto).
        self._told: dict[tuple[Place, int], list[tuple[int, int]]] = {}

    def take(self, arrival: int, t_us: int, extents: Sequence[Extent]) -> dict[int, int] | None:
        """What arrived: how much was new here, by attempt of the task. None where it does not follow what is held:
        then nothing of it is kept."""
        known: dict[Place, int] = {}
        for one in extents:
            place = one.thread, one.epoch
            had = known.get(place, self._upto.get(place, 0))
            if one.offset > had:
                return None
            known[place] = max(had, one.upto)
        found: dict[int, int] = {}
        for one in extents:
            found[one.attempt] = found.get(one.attempt, 0) + self._grow(arrival, t_us, one)
        return found

    def _grow(self, arrival: int, t_us: int, one: Extent) -> int:
        place = one.thread, one.epoch
        told = self._told.setdefault((place, one.attempt), [])
        if not told or one.upto > told[-1][1]:
            told.append((t_us, one.upto))
        before = self._upto.get(place, 0)
        if one.upto <= before:
            return 0
        self._upto[place] = one.upto
        self.grown.append(Growth(arrival, t_us, place, one.upto, one.attempt))
        ends, attempts = self._ends.setdefault(place, ([], []))
        ends.append(one.upto)
        attempts.append(one.attempt)
        return one.upto - before

    def attempt_of(self, place: Place, upto: int) -> int | None:
        """Whose bytes they are that are held up to there; None where so much is not held."""
        ends, attempts = self._ends.get(place, ((), ()))
        at = bisect_left(ends, upto)
        return attempts[at] if at < len(ends) else None

    def of_attempt(self, attempt: int, until_us: float) -> dict[Place, int]:
        """How far the logs of that attempt of the task were here by then."""
        found: dict[Place, int] = {}
        for (place, whose), told in self._told.items():
            upto = max((end for when, end in told if when <= until_us), default=0) if whose == attempt else 0
            if upto:
                found[place] = upto
        return found

    def at(self, t_us: int) -> dict[Place, int]:
        """How far every log was here by then."""
        return {one.place: one.upto for one in self.grown if one.t_us <= t_us}


class Consumer:
    """What one attempt of a relay puts on one of its channels: all that it has and that the receiver was not sent.

    A completed checkpoint makes the relay forget what is older, sent or not.
    """

    def __init__(self, copies: Copies, forgot: Sequence[tuple[int, int]]) -> None:
        self._copies = copies
        self._forgot = forgot
        self._heard = 0
        self._at = 0
        self._first_epoch = 0
        self._from_epoch = 0
        self._held: dict[Place, Growth] = {}
        self._sent: dict[Place, int] = {}
        self._changed: set[Place] = set()

    def begin(self, from_epoch: int) -> None:
        """The receiver knows nothing from that epoch on, and is told nothing of those before."""
        self._from_epoch = from_epoch
        self._sent.clear()
        self._changed = set(self._held)

    def delta(self, t_us: int, arrivals: int) -> list[Extent]:
        """What a sending carries at that time and after so many arrivals; neither may go back."""
        self._advance(t_us, arrivals)
        found = []
        for place in self._changed:
            thread, epoch = place
            sent, last = self._sent.get(place, 0), self._held[place]
            if epoch >= self._from_epoch and last.upto > sent:
                self._sent[place] = last.upto
                found.append(Extent(thread, epoch, sent, last.upto, last.attempt))
        self._changed.clear()
        return found

    def _advance(self, t_us: int, arrivals: int) -> None:
        grown = self._copies.grown
        while self._at < len(grown) and grown[self._at].arrival < arrivals:
            one = grown[self._at]
            self._at += 1
            self._forget(one.t_us - 1)
            if one.place[1] >= self._first_epoch:
                self._held[one.place] = one
                self._changed.add(one.place)
        self._forget(t_us)

    def _forget(self, t_us: int) -> None:
        before = self._first_epoch
        while self._heard < len(self._forgot) and self._forgot[self._heard][0] <= t_us:
            self._first_epoch = max(self._first_epoch, self._forgot[self._heard][1])
            self._heard += 1
        if self._first_epoch > before:
            self._held = {place: one for place, one in self._held.items() if place[1] >= self._first_epoch}
            self._changed &= set(self._held)


class Placing:
    """How many arrivals a relay had before each of its sendings, on one of its channels.

    Times tell that, but for what came within the microsecond of a sending; then what was recorded on the sending does,
    as it has all that its relay had. Of the world outside times tell less: a write has the time of its record.
    """

    def __init__(self, copies: Copies, arrived_us: Sequence[int], *, relays: bool, to_world: bool) -> None:
        """`copies` and `relays`: as recorded."""
        self._grown = copies.grown if relays else ()
        self._arrived_us = arrived_us
        self._to_world = to_world and relays
        self._from_epoch = 0
        self._at = 0
        self._placed = 0
        self._sent: dict[Place, int] = {}

    def begin(self, from_epoch: int) -> None:
        """The receiver knows nothing from that epoch on."""
        self._from_epoch = from_epoch
        self._sent.clear()

    def place(self, t_us: int, recorded: Iterable[Extent]) -> int:
        """The arrivals before a sending at that time, which carried this."""
        for one in recorded:
            self._sent[one.thread, one.epoch] = one.upto
        least, most = bisect_left(self._arrived_us, t_us), bisect_right(self._arrived_us, t_us)
        if self._to_world:
            most = len(self._arrived_us)
        self._placed = max(self._placed, self._told(max(least, self._placed), most, t_us))
        return self._placed

    def _told(self, least: int, most: int, t_us: int) -> int:
        while self._at < len(self._grown) and self._grown[self._at].arrival < least:
            self._at += 1
        told = bisect_right(self._arrived_us, t_us)
        for n in range(self._at, len(self._grown)):
            one = self._grown[n]
            if one.arrival >= most:
                break
            if one.place[1] >= self._from_epoch and one.upto > self._sent.get(one.place, 0):
                return one.arrival
            told = max(told, one.arrival + 1)
        return told


def same_extents(one: Iterable[Extent], other: Iterable[Extent]) -> bool:
    """Whether they name the same bytes, whoever appended them."""
    return sorted(extent[:4] for extent in one) == sorted(extent[:4] for extent in other)
