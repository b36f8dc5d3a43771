"""The sweep in plain Python: every log by itself in time, then all of them put together, for every question.

With R rows of growth, sorting costs R log R, and a step as much as tasks have the log: R·T at the most for T tasks, and
R where nobody depends on what he doesn't hold. Memory is that of the rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from replay.guarantees.recoverability.course import FOREVER, Course
from replay.guarantees.recoverability.log_walk import NOBODY, LogWalk, Sizes, Step, steps_of
from replay.guarantees.recoverability.port import Depended, Held, Lost, Place, Question, Situation, Swept, Worst
from replay.guarantees.recoverability.reach import Reach
from replay.model import WORLD, Graph

MOST_LOST = 1_000

Change = tuple[int, int, int | None]
"""(when, which log, the size from then on)"""


@dataclass(slots=True)
class Rows:
    """All rows by log."""

    held: dict[Place, list[Held]] = field(default_factory=lambda: defaultdict(list))
    depended: dict[Place, list[Depended]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, held: Iterable[Held], depended: Iterable[Depended]) -> Rows:
        """Sorts them."""
        found = cls()
        for row in held:
            found.held[row.place].append(row)
        for one in depended:
            found.depended[one.place].append(one)
        return found

    def places(self) -> list[Place]:
        """The logs that anybody depended on: of others nobody can lose anything."""
        return sorted(self.depended)

    def steps(self, place: Place, course: Course) -> list[Step]:
        """Of one log, while it is not stable."""
        stable_us = course.stable_us(place.epoch)
        found = steps_of(place, self.held.get(place, ()), self.depended.get(place, ()), course)
        return [step for step in found if step.t_us < stable_us]


def sweep(rows: Rows, course: Course, graph: Graph, questions: Sequence[Question], ends: Sequence[int]) -> Swept:
    """Answers all questions. See the module's description."""
    found = Swept(surplus=[0] * len(ends))
    recorded = graph.manifest.protocol.sharing_depth
    places = rows.places()
    for depth, least in sorted({(one.depth, one.least) for one in questions}, key=str):
        same = depth is None
        reach = None if same else Reach(graph, recorded, depth)
        asked = [one for one in questions if (one.depth, one.least) == (depth, least)]
        changes: dict[Question, list[Change]] = {one: [] for one in asked}
        for number, place in enumerate(places):
            walk = LogWalk(place, course.hosts, reach)
            stable_us = course.stable_us(place.epoch)
            before = NOBODY
            for t_us, sizes in _walked(
                walk, rows.steps(place, course), found if same else None, ends, stable_us, least
            ):
                _note(changes, number, t_us, before, sizes)
                before = sizes
            if stable_us < FOREVER:
                _note(changes, number, stable_us, before, NOBODY)
        for one in asked:
            found.worst[one] = together(changes[one], places)
    for one, worst in found.worst.items():
        point_out(one, worst, rows, course, graph)
    return found


def _walked(
    walk: LogWalk, steps: list[Step], found: Swept | None, ends: Sequence[int], stable_us: int, least: bool
) -> Iterator[tuple[int, Sizes]]:
    """The sizes after every microsecond in which something happened."""
    bucket = 0
    for n, step in enumerate(steps):
        while found is not None and bucket < len(ends) and ends[bucket] < step.t_us:
            found.surplus[bucket] += walk.surplus
            bucket += 1
        for lost in walk.take(step, least=least):
            if found is not None:
                _lose(found, lost)
        if n + 1 == len(steps) or steps[n + 1].t_us != step.t_us:
            yield step.t_us, walk.sizes()
    while found is not None and bucket < len(ends) and ends[bucket] < stable_us:
        found.surplus[bucket] += walk.surplus
        bucket += 1


def _lose(found: Swept, lost: Lost) -> None:
    if len(found.lost) < MOST_LOST:
        found.lost.append(lost)
    else:
        found.lost_left_out += 1


def size_for(question: Question, sizes: Sizes) -> int | None:
    """The one of the sizes that a question asks for."""
    if question.by == "task":
        return sizes.tasks_or_world if question.world else sizes.tasks
    return sizes.hosts_or_world if question.world else sizes.hosts


def _note(changes: dict[Question, list[Change]], number: int, t_us: int, before: Sizes, after: Sizes) -> None:
    for question, noted in changes.items():
        size = size_for(question, after)
        if size != size_for(question, before):
            noted.append((t_us, number, size))


def together(changes: list[Change], places: Sequence[Place]) -> Worst:
    """The smallest size of all logs, over time."""
    changes.sort(key=lambda change: change[0])
    found, now, counts = Worst(steps=[(0, None)]), dict[int, int](), Counter[int]()
    smallest: int | None = None
    for n, (t_us, number, size) in enumerate(changes):
        before = now.pop(number, None)
        if before is not None:
            counts[before] -= 1
        if size is not None:
            now[number] = size
            counts[size] += 1
        if n + 1 < len(changes) and changes[n + 1][0] == t_us:
            continue
        least = min((each for each, count in counts.items() if count), default=None)
        if least != found.steps[-1][1]:
            found.steps.append((t_us, least))
        if least is not None and (smallest is None or least < smallest):
            smallest, found.first_us = least, t_us
            found.place = places[min(each for each, one in now.items() if one == least)]
    return found


def point_out(question: Question, worst: Worst, rows: Rows, course: Course, graph: Graph) -> None:
    """The very byte, where the smallest set is first that small."""
    if worst.place is None:
        return
    same = question.depth is None
    reach = None if same else Reach(graph, graph.manifest.protocol.sharing_depth, question.depth)
    walk = LogWalk(worst.place, course.hosts, reach)
    gone: dict[tuple[str, int], int] = {}
    for step in rows.steps(worst.place, course):
        if step.t_us > worst.first_us:
            break
        for lost in walk.take(step, least=question.least):
            gone[lost.dependent, lost.dependent_attempt] = lost.upto
    still = (upto for who, upto in gone.items() if who in walk.lost and (question.world or who[0] != WORLD))
    worst.upto = max(still, default=0) or walk.worst_byte(world=question.world, by=question.by)


def situation(rows: Rows, course: Course, place: Place, upto: int, t_us: int) -> Situation:
    """Who had the byte before `upto`, and who depended on it, each since when."""
    walk = LogWalk(place, course.hosts)
    holders: dict[tuple[str, int], int] = {}
    dependents: dict[tuple[str, int], int] = {}
    for step in rows.steps(place, course):
        if step.t_us > t_us:
            break
        lost = {(one.dependent, one.dependent_attempt) for one in walk.take(step)}
        for found, known in ((holders, walk.holds), (dependents, walk.depends)):
            who = step.who
            if known.get(who, 0) >= upto:
                found.setdefault(who, step.t_us)
            gone = [one for one in found if known.get(one, 0) < upto and one not in lost and one not in walk.lost]
            for one in gone:
                del found[one]
    held = tuple((*who, since_us) for who, since_us in holders.items())
    return Situation(course.current(place.task, t_us), held, tuple((*who, t) for who, t in dependents.items()))
