"""The course of a job: when attempts lived and where, what recoveries were given back, when epochs became stable."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.causality.life import Life, lives
from replay.model import WORLD, Graph

Extents = dict[tuple[str, int], int]
"""By thread and epoch: how far."""

FOREVER = 1 << 62
_REPLAYS = ("Replaying", "Running")


@dataclass(frozen=True, slots=True)
class Beginning:
    """An attempt goes on by itself from `free_us` on (None: it never came so far) with what it was given by then.

    `given` None: what it was given is not recorded.
    """

    free_us: int | None
    given: Mapping[tuple[str, int], int] | None


@dataclass(slots=True)
class Course:
    """What the events tell. Executions are (task, attempt); of the world outside, its attempt counts rollbacks."""

    graph: Graph
    lives: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    hosts: dict[tuple[str, int], str] = field(default_factory=dict)
    answers: dict[tuple[str, int], list[tuple[int, Extents]]] = field(default_factory=dict)
    beginnings: dict[str, dict[int, Beginning]] = field(default_factory=dict)
    failures: list[Mapping[str, Any]] = field(default_factory=list)
    rollbacks: list[int] = field(default_factory=list)
    completions: list[tuple[int, int]] = field(default_factory=list)
    """(when, which checkpoint)"""
    end_us: int = 0

    def lived(self, task: str, attempt: int) -> tuple[int, int]:
        """From when until when; always, where no event tells."""
        return self.lives.get(task, {}).get(attempt, (0, FOREVER))

    def stable_us(self, epoch: int) -> int:
        """When a later checkpoint had completed: from then on no choice of that epoch is ever asked for."""
        return min((t_us for t_us, checkpoint in self.completions if checkpoint > epoch), default=FOREVER)

    def current(self, task: str, t_us: int) -> int:
        """The attempt that a task was in, or was in last."""
        begun = [n for n, (started_us, _) in self.lives.get(task, {}).items() if started_us <= t_us]
        return max(begun, default=0)

    def hosts_are_known(self) -> bool:
        """Of every attempt that began."""
        tasks = (task.id for task in self.graph.tasks)
        known = [(task, attempt) in self.hosts for task in tasks for attempt in self.lives.get(task, {})]
        return bool(known) and all(known)


def course_of(events: Iterable[Mapping[str, Any]], graph: Graph) -> Course:
    """Reads them once."""
    found, noted, kept = Course(graph), _Noted(), []
    for event in events:
        found.end_us = max(found.end_us, _int(event.get("t_us")))
        if event.get("type") in _TOLD:
            kept.append(event)
            noted.note(found, event)
    told = lives(kept)
    for task, of_task in told.items():
        if task in graph:
            found.lives[task] = {one.attempt: noted.span(one) for one in of_task}
    found.lives[WORLD] = _lineages(found.rollbacks)
    for each in graph.tasks:
        found.beginnings[each.id] = {
            attempt: noted.beginning(found, each.id, attempt, started_us)
            for attempt, (started_us, _) in found.lives.get(each.id, {}).items()
        }
    return found


_TOLD = frozenset(
    (
        "attempt-started",
        "task-failed",
        "recovery-state",
        "determinants-received",
        "checkpoint-completed",
        "global-rollback",
    )
)


@dataclass(slots=True)
class _Noted:
    """What is put together only at the end."""

    states: dict[tuple[str, int], list[tuple[int, str]]] = field(default_factory=dict)
    freed: set[tuple[str, int]] = field(default_factory=set)
    rolled_back_us: dict[tuple[str, int], int] = field(default_factory=dict)
    times: dict[Any, int] = field(default_factory=dict)

    def note(self, found: Course, event: Mapping[str, Any]) -> None:
        kind, t_us = event["type"], _int(event.get("t_us"))
        task, attempt = event.get("task"), event.get("attempt")
        if kind == "checkpoint-completed":
            found.completions.append((t_us, _int(event.get("checkpoint"))))
        elif kind == "global-rollback":
            found.rollbacks.append(t_us)
            self.times[event.get("n")] = t_us
        elif kind == "determinants-received":
            at = event.get("at")
            if isinstance(at, str) and at == event.get("of") and type(attempt) is int:
                found.answers.setdefault((at, attempt), []).append((t_us, _extents(event.get("logs"))))
        elif isinstance(task, str) and type(attempt) is int:
            if kind == "attempt-started":
                self._started(found, event, task, attempt)
            elif kind == "task-failed":
                found.failures.append(event)
            elif isinstance(event.get("to"), str):
                self.states.setdefault((task, attempt), []).append((t_us, event["to"]))

    def _started(self, found: Course, event: Mapping[str, Any], task: str, attempt: int) -> None:
        if isinstance(event.get("host"), str):
            found.hosts[task, attempt] = event["host"]
        if event.get("rollback") is not None or event.get("diverged"):
            self.freed.add((task, attempt))
        if event.get("rollback") in self.times:
            self.rolled_back_us[task, attempt] = self.times[event["rollback"]]

    def span(self, life: Life) -> tuple[int, int]:
        """What a rollback ends it ends at once, however long the next attempt takes to begin."""
        if life.ended_by == "rollback":
            return life.started_us, self.rolled_back_us.get((life.task, life.attempt + 1), life.ended_us)
        return life.started_us, life.ended_us if life.ended_by == "failure" else FOREVER

    def beginning(self, found: Course, task: str, attempt: int, started_us: int) -> Beginning:
        """Who recovers by no state machine, or without determinants, goes on by itself from its start."""
        states = self.states.get((task, attempt), [])
        # Where states are recorded, an attempt that entered none ended before it did anything.
        enters_states = bool(states) or (attempt > 0 and bool(self.states))
        if not enters_states or (task, attempt) in self.freed:
            return Beginning(started_us, {})
        free_us = min((t_us for t_us, state in states if state in _REPLAYS), default=None)
        answers = found.answers.get((task, attempt), [])
        if free_us is not None and not answers and found.graph.task(task).outputs:
            return Beginning(free_us, None)
        given: Extents = {}
        for _, extents in answers:
            for place, upto in extents.items():
                given[place] = max(upto, given.get(place, 0))
        return Beginning(free_us, given)


def _lineages(rollbacks: list[int]) -> dict[int, tuple[int, int]]:
    begun = [0, *sorted(rollbacks)]
    return dict(enumerate(zip(begun, [*begun[1:], FOREVER], strict=True)))


def _extents(logs: object) -> Extents:
    found: Extents = {}
    for extent in logs if isinstance(logs, list) else ():
        if isinstance(extent, list) and len(extent) == 4:
            _, thread, epoch, upto = extent
            if isinstance(thread, str) and type(epoch) is int and type(upto) is int:
                found[thread, epoch] = upto
    return found


def _int(value: object) -> int:
    return value if type(value) is int else 0


def bucket_ends(end_us: int, count: int) -> list[int]:
    """`count` stretches of the same length until the end, by the last microsecond of each."""
    return [max(end_us, 0) * (n + 1) // count for n in range(count)]


def bucket_of(ends: list[int], t_us: int) -> int:
    """The stretch that a moment lies in; the last one for what is later."""
    return min(bisect_left(ends, t_us), len(ends) - 1)
