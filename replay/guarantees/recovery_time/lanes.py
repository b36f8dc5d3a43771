"""Recoveries over time: of each task that recovered its parts as spans, and which of them recovered together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from replay.causality.life import ENDED_WITH_RECORDING, life_of
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.guarantees.recovery_time.phases import Recovery, take_apart
from replay.guarantees.recovery_time.waiting import Arrivals, arrivals

CATCH_UP = "catch-up"
"""The part behind all others: until nothing waits any more."""
MOST_ROLLED_BACK = 40
"""Of the tasks that one rollback took along, more are counted and not taken apart."""


class Span(NamedTuple):
    """A part of a recovery. `told`: whether the recording says when it ended; else something else ended it."""

    part: str
    from_us: int
    to_us: int
    told: bool = True


@dataclass(slots=True)
class Lane:
    """A recovery with what came to its inputs. `rollback`: the event that began it, of a task that did not fail."""

    recovery: Recovery
    arrivals: Arrivals
    caught_up_us: int | None = None
    ended_us: int | None = None
    ended_by: str = ""
    rollback: int | None = None

    @property
    def end_us(self) -> int:
        """Up to when it recovered, as far as is known."""
        one = self.recovery
        return max(one.known_us, self.ended_us or 0 if one.done_us is None else one.done_us)

    @property
    def spans(self) -> list[Span]:
        """One after the other; those of no time are left out."""
        one, at_us, found = self.recovery, self.recovery.failed_us, []
        for part, took_us in one.parts.items():
            found.append(Span(part, at_us, at_us + took_us))
            at_us += took_us
        if one.done_us is None and one.missing and self.ended_us is not None:
            found.append(Span(one.missing, at_us, self.ended_us, told=False))
        elif self.caught_up_us is not None:
            found.append(Span(CATCH_UP, at_us, self.caught_up_us))
        return [span for span in found if span.to_us > span.from_us]

    @property
    def catch_up_lacking(self) -> str:
        """What would tell when nothing waited any more; empty where it is told, or was never reached."""
        if self.recovery.done_us is None or self.caught_up_us is not None:
            return ""
        return self.arrivals.lacking or "a moment before the recording's end at which nothing waited"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        one = self.recovery
        return {
            "failure": one.failure,
            "task": one.task,
            "attempt": one.attempt,
            "begun_us": one.failed_us,
            "standby": one.standby,
            "rolled_back": one.rolled_back,
            "rollback": self.rollback,
            "checkpoint": one.checkpoint,
            "age_us": one.age_us,
            "parts": one.parts,
            "spans": [span._asdict() for span in self.spans],
            "done_us": one.done_us,
            "caught_up_us": self.caught_up_us,
            "ended_us": self.ended_us,
            "ended_by": self.ended_by,
            "missing": one.missing,
            "lacking": one.lacking,
            "catch_up_lacking": self.catch_up_lacking,
            "events": one.events,
        }


def lane_of(source: RecordingSource, story: Story, one: Recovery, rollback: int | None = None) -> Lane:
    """With the time at which nothing waited any more, where the receipts tell it."""
    lane = Lane(one, arrivals(source, one.task, one.attempt), rollback=rollback)
    life = life_of(story.lives, one.task, one.attempt)
    if life is not None and life.ended_by != ENDED_WITH_RECORDING:
        lane.ended_us, lane.ended_by = life.ended_us, life.ended_by
    if one.done_us is not None and not lane.arrivals.lacking:
        lane.caught_up_us = lane.arrivals.caught_up_us(one.done_us)
    return lane


def taken_along(source: RecordingSource, story: Story, failed: Sequence[Recovery]) -> tuple[list[Lane], int]:
    """Tasks that recovered though they did not fail, since a rollback took them along; and how many more there are."""
    known = {(one.task, one.attempt) for one in failed}
    found, left_out = [], 0
    for rollback in story.rollbacks:
        every = list(_begun_by(story, rollback, known))
        chosen = list(islice(every, MOST_ROLLED_BACK))
        left_out += len(every) - len(chosen)
        for one in chosen:
            take_apart(source, story, one)
            found.append(lane_of(source, story, one, rollback.get("n")))
    return found, left_out


def _begun_by(story: Story, rollback: Any, known: set[tuple[str, int]]) -> Iterator[Recovery]:
    number, t_us, failure = rollback.get("n"), rollback.get("t_us"), rollback.get("failure")
    if type(number) is not int or type(t_us) is not int:
        return
    for (task, attempt), started in story.starts.items():
        if started.get("rollback") == number and (task, attempt) not in known:
            standby = started.get("standby")
            yield Recovery(
                failure if type(failure) is int else -1,
                task,
                attempt,
                t_us,
                standby if isinstance(standby, bool) else None,
                rolled_back=True,
                checkpoint=story.checkpoint_of(task, attempt),
                events=[number],
            )


def together(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Those that overlap in time, each group in the order in which they began; the first group began first."""
    groups: list[list[Lane]] = []
    until_us = -1
    for lane in sorted(lanes, key=lambda one: (one.recovery.failed_us, one.recovery.failure, one.recovery.task)):
        if groups and lane.recovery.failed_us <= until_us:
            groups[-1].append(lane)
        else:
            groups.append([lane])
        until_us = max(until_us, lane.end_us)
    return groups
