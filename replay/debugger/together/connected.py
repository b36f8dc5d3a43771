"""Which failures are recovered from together: of one blow, or with recoveries that ask one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from replay.causality.life import life_of
from replay.debugger.recorded.story import Event, Story
from replay.model import Graph

_ASKED = frozenset({"determinants-request-received", "replay-request-received", "determinants-received"})


@dataclass(frozen=True, slots=True)
class _Recovery:
    """An attempt from its beginning until it was running, or ended; `until` is inclusive."""

    failure: int
    task: str
    attempt: int
    since_us: int
    until_us: int


def recovered_together(story: Story, graph: Graph, failure: int) -> tuple[int, ...]:
    """The failures of one replay with this one, in their order; itself alone where nothing connects it."""
    return next(group for group in groups(story, graph) if failure in group)


def groups(story: Story, graph: Graph) -> list[tuple[int, ...]]:
    """All failures, those that are recovered from together side by side, by their first one."""
    belongs = {failure: failure for failure in story.failures}

    def first(failure: int) -> int:
        while belongs[failure] != failure:
            belongs[failure] = belongs[belongs[failure]]
            failure = belongs[failure]
        return failure

    for one, other in _connections(story, graph):
        lower, higher = sorted((first(one), first(other)))
        belongs[higher] = lower
    found: dict[int, list[int]] = defaultdict(list)
    for failure in sorted(belongs):
        found[first(failure)].append(failure)
    return [tuple(group) for group in found.values()]


def _connections(story: Story, graph: Graph) -> Iterator[tuple[int, int]]:
    for failure, event in story.failures.items():
        blow = event.get("together")
        if isinstance(blow, int) and blow in story.failures:
            yield failure, blow
    recoveries = list(_recoveries(story))
    by_task: dict[str, list[_Recovery]] = defaultdict(list)
    for recovery in recoveries:
        by_task[recovery.task].append(recovery)
    for recovery in recoveries:
        for event in _asked(story, recovery):
            for other in by_task.get(_other_end(graph, event, recovery.task), ()):
                if other.since_us <= event["t_us"] <= other.until_us:
                    yield recovery.failure, other.failure


def _recoveries(story: Story) -> Iterator[_Recovery]:
    """Of each failure the attempt after it; where that failed too, that is a failure of its own."""
    for failure, event in story.failures.items():
        task, attempt = event.get("task"), event.get("attempt")
        if not isinstance(task, str) or not isinstance(attempt, int):
            continue
        since_us, until_us = _window(story, task, attempt + 1)
        if until_us is not None:
            yield _Recovery(failure, task, attempt + 1, since_us, until_us)


def _window(story: Story, task: str, attempt: int) -> tuple[int, int | None]:
    """From its first event until it was running; None where nothing tells of it."""
    events = story.of_attempt.get((task, attempt), [])
    if not events:
        return 0, None
    running = next((event["t_us"] for event in events if _is_running(event)), None)
    life = life_of(story.lives, task, attempt)
    ended_us = life.ended_us if life is not None else events[-1]["t_us"]
    return int(events[0]["t_us"]), int(ended_us if running is None else running)


def _asked(story: Story, recovery: _Recovery) -> Iterator[Event]:
    """What others asked of it, and answered, before it was running."""
    for event in story.of_attempt.get((recovery.task, recovery.attempt), ()):
        if _is_running(event):
            return
        if event.get("type") in _ASKED:
            yield event


def _is_running(event: Event) -> bool:
    return event.get("type") == "recovery-state" and event.get("to") == "Running"


def _other_end(graph: Graph, event: Event, task: str) -> str:
    sender, _, receiver = str(event.get("channel")).partition(">")
    return receiver if sender == task else sender
