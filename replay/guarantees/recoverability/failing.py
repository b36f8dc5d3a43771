"""Whom a given set of tasks or hosts would have orphaned, had all of it failed at a given moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from replay.errors import WrongSetting, printable
from replay.guarantees.claims import Section
from replay.guarantees.recoverability import words
from replay.guarantees.recoverability.course import Course
from replay.guarantees.recoverability.log_walk import Execution, LogWalk
from replay.guarantees.recoverability.port import Causality, Place
from replay.guarantees.recoverability.sweep import Rows
from replay.model import WORLD, TaskId

NAME, TITLE = "failing", "What if these fail"
MOST_NUMBERED = 1_000
_US_PER_MS = 1_000


class Failing(NamedTuple):
    """These tasks, or hosts (`by`), fail at once, after all that happened in that microsecond; `world`: the outside
    counts among those who may follow from what is lost."""

    t_us: int
    failed: frozenset[str]
    by: str = "task"
    world: bool = False


class Orphaned(NamedTuple):
    """Bytes of a log, from `first` up to `upto`, that nobody left would hold, and who would follow from them.

    `already`: their choices were lost before, whoever fails now.
    """

    place: Place
    attempt: int
    first: int
    upto: int
    dependents: tuple[Execution, ...]
    already: bool = False


class Moments(Causality, Protocol):
    """A recording, as far as this reads it."""

    @property
    def course(self) -> Course:
        """What the events tell."""

    def rows_about(self, tasks: Collection[str], t_us: int, *, world: bool) -> Rows:
        """What was held and depended on until then of the logs of these tasks that were not stable then."""


@dataclass(frozen=True, slots=True)
class _Moment:
    failing: Failing
    course: Course

    def gone(self, who: Execution) -> bool:
        """Whether it fails."""
        if who[0] == WORLD:
            return False
        name = who[0] if self.failing.by == "task" else self.course.hosts.get(who, "")
        return name in self.failing.failed

    def at_risk(self) -> list[str]:
        """Whose logs somebody could be left without: of who fails, of who does not run, and of who lost some before."""
        return [str(task.id) for task in self.course.graph.tasks if self._is_at_risk(task.id)]

    def _is_at_risk(self, task: TaskId) -> bool:
        t_us, course = self.failing.t_us, self.course
        attempt = course.current(task, t_us)
        started_us, ended_us = course.lived(task, attempt)
        beginnings = course.beginnings.get(task) or {}
        begun = beginnings.get(attempt)
        runs = started_us <= t_us < ended_us and (begun is None or (begun.free_us or 0) <= t_us)
        if begun is not None and begun.free_us is None:
            runs = False
        went_on = any(n and one.free_us is not None and one.free_us <= t_us for n, one in beginnings.items())
        return went_on or not runs or self.gone((task, attempt))

    def orphaned(self, rows: Rows) -> Iterator[Orphaned]:
        """By log."""
        for place in rows.places():
            walk, lost_upto = LogWalk(place, self.course.hosts), 0
            for step in rows.steps(place, self.course):
                if step.t_us > self.failing.t_us:
                    break
                lost_upto = max((lost_upto, *(one.upto for one in walk.take(step))))
            if self.course.stable_us(place.epoch) > self.failing.t_us:
                yield from self._of(walk, lost_upto)

    def _of(self, walk: LogWalk, lost_upto: int) -> Iterator[Orphaned]:
        attempt = self.course.current(walk.place.task, self.failing.t_us)
        lost = tuple(sorted(who for who in walk.lost if self._may_follow(who)))
        if lost:
            yield Orphaned(walk.place, attempt, min(walk.depends[who] for who in lost), lost_upto, lost, already=True)
        left = max((upto for who, upto in walk.holds.items() if not self.gone(who)), default=0)
        those = {who: upto for who, upto in walk.depends.items() if upto > left and self._may_follow(who)}
        if those:
            yield Orphaned(walk.place, attempt, left, max(those.values()), tuple(sorted(those)))

    def _may_follow(self, who: Execution) -> bool:
        return not self.gone(who) and (self.failing.world or who[0] != WORLD)


def orphaned_by(causality: Moments, failing: Failing) -> list[Orphaned]:
    """By log; what is stable then orphans nobody."""
    moment = _Moment(failing, causality.course)
    rows = causality.rows_about(moment.at_risk(), failing.t_us, world=failing.world)
    return list(moment.orphaned(rows))


# --- as somebody asks for it ---


def failing_of(text: str, *, world: bool = True) -> Failing:
    """`join.0,map.1@2000`: these tasks at that millisecond; `host:host-1@2000`: whatever is on that host."""
    names, _, at_ms = text.rpartition("@")
    by = "host" if names.startswith("host:") else "task"
    failed = frozenset(one.strip() for one in names.removeprefix("host:").split(",") if one.strip())
    if not failed or not at_ms.isascii() or not at_ms.isdigit() or len(at_ms) > 15:
        raise WrongSetting(
            f"“{printable(text)}” names no failures at a moment", remedy="Write join.0,map.1@2000 or host:host-1@2000"
        )
    return Failing(int(at_ms) * _US_PER_MS, failed, by, world)


def failing_section(causality: Moments, failing: Failing) -> Section:
    """Raises `WrongSetting` where there is no such task or host."""
    section, protocol = Section(NAME, TITLE), causality.manifest.protocol
    _check_names(causality, failing)
    section.numbers = {
        "at_us": failing.t_us,
        "by": failing.by,
        "failed": sorted(failing.failed),
        "outside": failing.world,
    }
    if not protocol.logs:
        section.verdict, section.sentence, section.good = words.unlogged(protocol)
        return section
    found = orphaned_by(causality, failing)
    for one in found:
        section.claim(f"task:{one.place.task}", words.ORPHANED, _words(one), [_evidence(one)])
    section.numbers["orphaned"] = [_told(one) for one in found[:MOST_NUMBERED]]
    who = sorted({task for one in found for task, _ in one.dependents})
    section.verdict, section.good = (words.ORPHANED, False) if found else ("nobody orphaned", True)
    before = all(one.already for one in found)
    section.sentence = words.fallout(failing.t_us, sorted(failing.failed), who, before=before)
    _leave_open(section, causality, failing)
    return section


def _check_names(causality: Moments, failing: Failing) -> None:
    if not failing.failed:
        raise WrongSetting(f"no {failing.by} is named that fails", remedy="Name at least one")
    known: set[str] = {str(task.id) for task in causality.graph.tasks}
    if failing.by == "host":
        if not causality.course.hosts_are_known():
            raise WrongSetting("not every attempt's host is told in the recording", remedy="Ask for tasks")
        known = set(causality.course.hosts.values())
    unknown = sorted(failing.failed - known)
    if unknown:
        some = ", ".join(printable(one) for one in sorted(known)[:20])
        raise WrongSetting(f"there is no {failing.by} “{printable(unknown[0])}”", remedy=f"There are {some}")


def _leave_open(section: Section, causality: Moments, failing: Failing) -> None:
    """Nobody is said to be safe where a dependence may have gone unseen, nor unsafe where a holder may have."""
    if not causality.manifest.complete:
        section.lack("job", words.INCOMPLETE, "the rest of the recording")
    if not causality.course.lives:
        section.lack("job", words.NO_LIVES, "attempt-started in events.ndjson")
    if failing.world and causality.manifest.protocol.waits:
        section.lack("world", words.WAITED, "when a write was made, beside when it was accepted, in sink/")
    for channel, member in causality.gaps():
        section.lack(f"channel:{channel}", words.gap(channel), member)
    for channel, why, buffer in causality.unfollowed():
        section.lack(f"channel:{channel}", words.fault(why), f"sendings behind {buffer} with deltas")
    hides = words.HIDES_DEPENDENCE if section.good else words.HIDES_HOLDERS
    unseen = [one for one in section.lacks if one.wants.endswith(hides)]
    if unseen:
        section.sentence = words.unseen(len(unseen), safe=bool(section.good))
        section.verdict, section.good = words.UNDECIDED, None


def _words(one: Orphaned) -> str:
    dependents = sorted({task for task, _ in one.dependents})
    return words.left_without(one.place, one.first, one.upto, dependents, already=one.already)


def _evidence(one: Orphaned) -> str:
    attempt = max(one.attempt - 1, 0) if one.already else one.attempt
    return f"log:{one.place.task}/{attempt}/{one.place.thread}/{one.place.epoch}@{one.first}"


def _told(one: Orphaned) -> dict[str, Any]:
    place = one.place
    return {
        "task": place.task,
        "thread": place.thread,
        "epoch": place.epoch,
        "from": one.first,
        "upto": one.upto,
        "dependents": [task for task, _ in one.dependents],
        "already": one.already,
    }
