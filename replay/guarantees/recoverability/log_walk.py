"""One epoch of one log, walked in time: who holds how much of it, who depends on how much, what orphans whom.

Holders hold prefixes and dependence is by prefixes, so Log(e) and Depend(e) only shrink towards a log's end. Of all
bytes that somebody depends on without holding them, the last one therefore has the fewest holders, and is the only one
that needs looking at: it is found by one pass over the tasks that the log has reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from replay.guarantees.recoverability.course import FOREVER, Course
from replay.guarantees.recoverability.port import Depended, Held, Lost, Place
from replay.guarantees.recoverability.reach import Reach, Reached
from replay.model import WORLD

Execution = tuple[str, int]

HOLDS, DEPENDS, ENDS, ANSWERED, GOES_ON = range(5)
"""Kinds of steps, in the order in which those of one microsecond are applied."""


class Step(NamedTuple):
    """`upto` is by whose attempt's account (`whose`) where it holds; what a recovery returned where it goes on."""

    t_us: int
    kind: int
    who: Execution
    upto: int
    whose: int = 0


class Sizes(NamedTuple):
    """Of the smallest sets that orphan somebody: tasks or hosts, without and with the outside as a dependent."""

    tasks: int | None
    tasks_or_world: int | None
    hosts: int | None
    hosts_or_world: int | None


NOBODY = Sizes(None, None, None, None)


def steps_of(place: Place, held: Iterable[Held], depended: Iterable[Depended], course: Course) -> list[Step]:
    """In time. Whatever an attempt did before it began or after it ended counts for nobody."""
    found: list[Step] = []
    seen: set[Execution] = set()
    for row in held:
        found.append(Step(row.t_us, HOLDS, (row.holder, row.holder_attempt), row.upto, row.attempt))
    for one in depended:
        found.append(Step(one.t_us, DEPENDS, (one.task, one.attempt), one.upto))
    found = [step for step in found if _lives(course, step)]
    seen.update(step.who for step in found)
    seen.update((place.task, attempt) for attempt in course.lives.get(place.task, {}))
    for who in seen:
        ended_us = course.lived(*who)[1]
        if ended_us < FOREVER:
            found.append(Step(ended_us, ENDS, who, 0))
    found += own_steps(place, course)
    found.sort(key=lambda step: step[:2])
    return found


def _lives(course: Course, step: Step) -> bool:
    started_us, ended_us = course.lived(*step.who)
    return started_us <= step.t_us <= ended_us


def own_steps(place: Place, course: Course) -> Iterator[Step]:
    """A task holds what it was given back, and from when it goes on by itself all that it logs."""
    beginnings = course.beginnings.get(place.task) or {}
    if not beginnings:
        yield Step(0, GOES_ON, (place.task, 0), FOREVER)
    for attempt, beginning in beginnings.items():
        who, ended_us = (place.task, attempt), course.lived(place.task, attempt)[1]
        for t_us, extents in course.answers.get(who, ()):
            upto = extents.get((place.thread, place.epoch), 0)
            if upto and t_us < ended_us:
                yield Step(t_us, ANSWERED, who, upto)
        if beginning.free_us is not None and beginning.free_us < ended_us:
            given = beginning.given
            known = FOREVER if given is None or not attempt else given.get((place.thread, place.epoch), 0)
            yield Step(beginning.free_us, GOES_ON, who, known)


class LogWalk:
    """The state between two steps."""

    __slots__ = ("_behind", "_clips", "depends", "holds", "hosts", "lost", "place", "reach")

    def __init__(self, place: Place, hosts: Mapping[Execution, str], reach: Reach | None = None) -> None:
        self.place = place
        self.hosts = hosts
        self.reach = reach
        self.holds: dict[Execution, int] = {}
        self.depends: dict[Execution, int] = {}
        self.lost: set[Execution] = set()
        self._clips: list[tuple[int, int]] = []  # (attempt that went on, what it was given)
        self._behind: set[Execution] = set()

    def take(self, step: Step, *, least: bool = True) -> Iterable[Lost]:
        """Applies one step; returns whom it leaves with what is lost."""
        match step.kind:
            case 0:  # HOLDS
                self._hold(step.who, self._clipped(step), least)
            case 1:  # DEPENDS
                self._depend(step.who, step.upto)
            case 2:  # ENDS
                self.holds.pop(step.who, None)
                self.depends.pop(step.who, None)
                self.lost.discard(step.who)
                self._behind.discard(step.who)
            case 3:  # ANSWERED
                self.holds[step.who] = max(step.upto, self.holds.get(step.who, 0))
            case _:
                return self._go_on(step)
        return ()

    def _clipped(self, step: Step) -> int:
        """What an older attempt wrote past what a newer one was given is no part of the log any more."""
        return min([step.upto, *(given for attempt, given in self._clips if step.whose < attempt)])

    def _hold(self, who: Execution, upto: int, least: bool) -> None:
        if self.reach is not None:
            how = self.reach.of(self.place.task, who[0])
            if how is Reached.NOTHING or (least and how is Reached.UNKNOWN):
                return
        if upto > self.holds.get(who, 0):
            self.holds[who] = upto
            if upto >= self.depends.get(who, 0):
                self._behind.discard(who)

    def _depend(self, who: Execution, upto: int) -> None:
        if upto <= self.depends.get(who, 0):
            return
        self.depends[who] = upto
        if self.reach is not None and self.reach.of(self.place.task, who[0]) is Reached.AS_DEPENDED:
            self.holds[who] = max(upto, self.holds.get(who, 0))
        if upto > self.holds.get(who, 0):
            self._behind.add(who)

    def _go_on(self, step: Step) -> list[Lost]:
        """Whoever depends on more than what came back depends on what nobody will make again."""
        (task, attempt), given = step.who, step.upto
        found = []
        if given < FOREVER:
            self._clips.append((attempt, given))
            for who, upto in self.depends.items():
                if upto > given and who[0] != task:
                    self.lost.add(who)
                    found.append(Lost(self.place, attempt, step.t_us, given, upto, *who))
                    self.depends[who] = given
            self.holds = {who: min(upto, given) for who, upto in self.holds.items()}
            self._behind = {who for who, upto in self.depends.items() if upto > self.holds.get(who, 0)}
        self.holds[step.who] = FOREVER
        return found

    # --- what could orphan whom ---

    @property
    def surplus(self) -> int:
        """Bytes that are held by tasks other than the log's own that don't depend on them."""
        own = self.place.task
        held = ((who, upto) for who, upto in self.holds.items() if who[0] not in (own, WORLD))
        return sum(max(0, upto - self.depends.get(who, 0)) for who, upto in held)

    def sizes(self) -> Sizes:
        """Whatever happened in one microsecond is looked at when all of it has happened."""
        if not self._behind and not self.lost:
            return NOBODY
        stable = max((upto for who, upto in self.holds.items() if who[0] == WORLD), default=0)
        behind = [(who, self.depends[who]) for who in self._behind if self.depends[who] > stable]
        everybody = max((upto for _, upto in behind), default=0)
        tasks = max((upto for who, upto in behind if who[0] != WORLD), default=0)
        orphaned = bool(self.lost)
        alone = any(who[0] != WORLD for who in self.lost)
        return Sizes(
            0 if alone else self._count(tasks),
            0 if orphaned else self._count(everybody),
            *self._by_host(behind, alone=alone, orphaned=orphaned),
        )

    def _count(self, upto: int) -> int | None:
        """How many tasks hold the byte before `upto`."""
        if not upto:
            return None
        return sum(held >= upto for who, held in self.holds.items() if who[0] != WORLD)

    def _by_host(
        self, behind: Sequence[tuple[Execution, int]], *, alone: bool, orphaned: bool
    ) -> tuple[int | None, int | None]:
        """A host holds what any task on it holds, and is gone with all of them."""
        held: dict[str, int] = {}
        for who, upto in self.holds.items():
            if who[0] != WORLD:
                host = self.hosts.get(who, "")
                held[host] = max(upto, held.get(host, 0))
        tasks = everybody = 0
        for who, upto in behind:
            if who[0] == WORLD:
                everybody = max(everybody, upto)
            elif upto > held.get(self.hosts.get(who, ""), 0):
                tasks, everybody = max(tasks, upto), max(everybody, upto)
        count = {p: sum(one >= p for one in held.values()) if p else None for p in (tasks, everybody)}
        return 0 if alone else count[tasks], 0 if orphaned else count[everybody]

    def worst_byte(self, *, world: bool, by: str) -> int:
        """The end of the byte whose holders are the smallest set; 0 where nobody can be orphaned, or somebody is."""
        stable = max((upto for who, upto in self.holds.items() if who[0] == WORLD), default=0)
        found = 0
        for who in self._behind:
            if self.depends[who] <= stable or (who[0] == WORLD and not world):
                continue
            if by == "host" and who[0] != WORLD:
                host = self.hosts.get(who, "")
                if any(h >= self.depends[who] for e, h in self.holds.items() if self.hosts.get(e, "") == host):
                    continue
            found = max(found, self.depends[who])
        return found
