"""The section of an audit on recoverability: would survivors hold every choice that a survivor follows from?

Where logs are shared or stored, its numbers are:

    {"protocol", "sharing_depth" ("full" or a number), "tasks", "hosts" (null: not told), "end_us",
     "smallest":   {KEY: n or null},         the smallest set that orphans somebody, at any moment; null: there is none
     "tolerates":  {KEY: n or null},         so many failures at any moment orphan nobody; null: any; -1: somebody was
     "examples":   {KEY: {"log", "offset", "at_us", "size", "evidence",
                          "holders": [{"task", "attempt", "since_us"}, …], "dependents": […]} or null},
     "heat":       {"ends_us": […], KEY: [n or null, …]},            by stretches of time, of which these are the ends
     "by_failures": {KEY: [{"f", "holds", "broken_us", "first_us"}, …]},       property 2.5; greater f are as the last
     "always_no_orphans": {"holds", "broken_us", "first_us"},                  property 2.1, and the safety half of 2.4
     "beyond_dependence": {"bytes": […], "most_bytes", "at_the_end_bytes"},    at the ends of those stretches
     "depths":     [{"depth", "full", "recorded", "exact", "at_least", "smallest": {KEY: [least, most]}}, …],
     "lost":       [{"log", "at_us", "returned", "upto", "dependent", "attempt"}, …], "lost_left_out",
     "contents":   {"in_flight", "sources": {task: "records" | "references" | "nothing" | "missing"},
                    "not_replayable", "smallest", "decided"}}

KEY is `task`, `host` (neither `host` nor `host_or_world` where hosts are not told), `task_or_world`, `host_or_world`:
whose failures are counted, and whether the outside counts among the dependents. Else only `protocol`, `sharing_depth`,
`tasks` and `contents` are there.
"""

from __future__ import annotations

from typing import Any

from replay.debugger.ports import RecordingSource
from replay.guarantees.claims import Section
from replay.guarantees.recoverability import words
from replay.guarantees.recoverability.contents import contents
from replay.guarantees.recoverability.course import Course, bucket_ends, course_of
from replay.guarantees.recoverability.examples import example
from replay.guarantees.recoverability.measures import by_failures, heat
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.port import Causality, Question, Swept, Worst
from replay.guarantees.recoverability.reach import Reach, depths_of
from replay.model import WORLD, Protocol

NAME, TITLE = "recoverability", "Recoverability"
BUCKETS = 120

KEYS = {
    "task": Question("task"),
    "host": Question("host"),
    "task_or_world": Question("task", world=True),
    "host_or_world": Question("host", world=True),
}
"""Whose failures are counted, and whether the outside is a dependent."""


def recoverability(source: RecordingSource) -> Section:
    """Of a recording's members, in plain Python."""
    return recoverability_of(BundleCausality(source))


def recoverability_of(causality: Causality) -> Section:
    """Of anything that has the rows."""
    section = Section(NAME, TITLE)
    protocol = causality.manifest.protocol
    section.numbers = {
        "protocol": protocol.name,
        "sharing_depth": "full" if protocol.sharing_depth is None else protocol.sharing_depth,
        "tasks": len(causality.graph.tasks),
        "contents": contents(causality),
    }
    if not protocol.logs:
        section.verdict, section.sentence, section.good = words.unlogged(protocol)
        return section
    course = course_of(causality.events(), causality.graph)
    _sweep(section, causality, course)
    _say_contents(section)
    for channel, why, buffer in causality.unfollowed():
        section.lack(f"channel:{channel}", words.fault(why), f"sendings behind {buffer} with deltas")
    for channel, member in causality.gaps():
        section.lack(f"channel:{channel}", words.gap(channel), member)
    _leave_open(section)
    return section


def _sweep(section: Section, causality: Causality, course: Course) -> None:
    ends = bucket_ends(course.end_us, BUCKETS)
    depths = _depths(causality)
    asked = [*KEYS.values(), *(one for _, bounds in depths for both in bounds.values() for one in both)]
    asked = list(dict.fromkeys(asked))
    swept = causality.sweep(asked, ends)
    swept.lost.sort(key=lambda one: (one.t_us, one))
    knows_hosts = course.hosts_are_known()
    worst = {key: swept.worst[one] for key, one in KEYS.items() if knows_hosts or one.by == "task"}
    smallest = {key: one.smallest for key, one in worst.items()}
    section.numbers |= {
        "hosts": len(set(course.hosts.values())) if knows_hosts else None,
        "end_us": course.end_us,
        "smallest": smallest,
        "tolerates": {key: None if size is None else max(size - 1, -1) for key, size in smallest.items()},
        "examples": {key: example(causality, KEYS[key], one) for key, one in worst.items() if one.smallest is not None},
        "heat": {"ends_us": ends, **{key: heat(one, ends) for key, one in worst.items()}},
        "depths": [_depth(causality, depth, bounds, swept) for depth, bounds in depths],
        "by_failures": {key: by_failures(one, course.end_us) for key, one in worst.items()},
        "always_no_orphans": _property_1(worst["task"], course.end_us),
        "beyond_dependence": _beyond(swept),
        "lost": [words.lost(one) for one in swept.lost],
        "lost_left_out": swept.lost_left_out,
    }
    _say(section, course, worst, swept)
    _what_is_open(section, causality, course, worst, swept)


def _property_1(worst: Worst, end_us: int) -> dict[str, Any]:
    """2.1, of which 2.4 has the same safety half."""
    broken = by_failures(worst, end_us)[-1:]
    return {key: broken[0][key] for key in ("holds", "broken_us", "first_us")} if broken else {"holds": True}


def _beyond(swept: Swept) -> dict[str, Any]:
    most = max(swept.surplus, default=0)
    return {"bytes": swept.surplus, "most_bytes": most, "at_the_end_bytes": swept.surplus[-1] if swept.surplus else 0}


# --- other sharing depths ---


Bounds = dict[str, tuple[Question, Question]]
"""By key: what asks for the least and for the most; the same question where nothing is unknown."""


def _depths(causality: Causality) -> list[tuple[int, Bounds]]:
    """Every depth from 1 to full, unless determinants go to a storage and no further."""
    protocol, deepest = causality.manifest.protocol, depths_of(causality.graph)
    if protocol.in_storage:
        return []
    found: list[tuple[int, Bounds]] = []
    for depth in range(1, deepest + 1):
        if depth == _recorded(protocol, deepest):
            found.append((depth, {key: (one, one) for key, one in KEYS.items()}))
            continue
        sides = (True, True) if Reach(causality.graph, protocol.sharing_depth, depth).is_known() else (True, False)
        asked = {key: tuple(Question(one.by, one.world, depth, least) for least in sides) for key, one in KEYS.items()}
        found.append((depth, asked))  # type: ignore[arg-type]
    return found


def _recorded(protocol: Protocol, deepest: int) -> int:
    return deepest if protocol.sharing_depth is None else min(protocol.sharing_depth, deepest)


def _depth(causality: Causality, depth: int, bounds: Bounds, swept: Swept) -> dict[str, Any]:
    """What it would have been at that depth, had everything else gone as it did: at least, and at most."""
    deepest, protocol = depths_of(causality.graph), causality.manifest.protocol
    recorded = _recorded(protocol, deepest)
    found = {key: [swept.worst[one].smallest for one in both] for key, both in bounds.items()}
    deeper = depth > recorded
    return {
        "depth": depth,
        "full": depth == deepest,
        "recorded": depth == recorded,
        "exact": _is_exact(causality, depth) or (not deeper and all(least == most for least, most in found.values())),
        "at_least": deeper,
        "smallest": found,
    }


def _is_exact(causality: Causality, depth: int) -> bool:
    return Reach(causality.graph, causality.manifest.protocol.sharing_depth, depth).is_exact()


# --- in words ---


def _say(section: Section, course: Course, worst: dict[str, Worst], swept: Swept) -> None:
    tasks = worst["task"]
    orphans = [one for one in swept.lost if one.dependent != WORLD]
    section.verdict, section.sentence = words.verdict(tasks.smallest, section.numbers, orphaned=bool(orphans))
    section.good = False if orphans else True if tasks.smallest is None else None
    for key, one in worst.items():
        shown = section.numbers["examples"].get(key)
        about = words.claimed(key, one.smallest, shown)
        section.claim("job", about.verdict, about.sentence, about.evidence)
    for lost in swept.lost:
        who = f"task:{lost.dependent}" if lost.dependent != WORLD else "world"
        section.claim(who, "orphaned", words.orphaned(lost), words.evidence_of(lost, course))
    section.claim("job", *words.beyond(section.numbers["beyond_dependence"], swept))


def _what_is_open(
    section: Section, causality: Causality, course: Course, worst: dict[str, Worst], swept: Swept
) -> None:
    if not causality.manifest.complete:
        section.lack("job", words.INCOMPLETE, "the rest of the recording")
    if not course.lives:
        section.lack("job", words.NO_LIVES, "attempt-started in events.ndjson")
    if "host" not in worst:
        section.lack("job", words.NO_HOSTS, "host in attempt-started")
    if causality.manifest.protocol.waits:
        section.lack("world", words.WAITED, "when a write was made, beside when it was accepted, in sink/")
    smallest = worst["task_or_world"].smallest
    if swept.uncertain_us >= 0 and (smallest is None or smallest > 1):
        section.lack("world", words.uncertain(swept.uncertain_us), "where the main log stood at a write, in sink/")
    for task, attempts in course.beginnings.items():
        for attempt, beginning in attempts.items():
            if beginning.given is None:
                section.lack(f"task:{task}", words.not_told(task, attempt), "determinants-received in events.ndjson")
    for one in section.numbers["depths"]:
        if not one["exact"]:
            section.lack("job", words.inexact(one["depth"], at_least=one["at_least"]), "a recording at that depth")


def _say_contents(section: Section) -> None:
    found = section.numbers["contents"]
    verdict, sentence = words.contents(found)
    section.claim("job", verdict, sentence)
    if found["in_flight"] is None:
        section.lack("job", words.UNKNOWN_PROTOCOL, "protocol.name in job.json")
    for task in found["not_replayable"]:
        section.lack(f"task:{task}", words.no_records(task), f"tasks/{task}/*/source/*.ndjson")


def _leave_open(section: Section) -> None:
    """Nobody is said to be safe where a dependence may have gone unseen, nor unsafe where a holder may have."""
    hides = words.HIDES_DEPENDENCE if section.good else words.HIDES_HOLDERS if section.verdict == words.SOME else ()
    unseen = [one for one in section.lacks if one.wants.endswith(hides)]
    if unseen:
        section.sentence = words.unseen(len(unseen), safe=bool(section.good))
        section.verdict, section.good = words.UNDECIDED, None
