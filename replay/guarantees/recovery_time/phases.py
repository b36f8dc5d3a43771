"""What each recovery of a recording was made of, one part after the other, and when all was done again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.causality.life import ENDED_WITH_RECORDING, life_of
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.guarantees.recovery_time.places import Places, done_again_us

GAPS = "none"
"""The protocol under which nothing is done again."""
MOST_BEFORE = 8
"""Of attempts before one, more are not looked at."""
PARTS = ("detection", "start", "download", "connect", "ask", "replay")
"""One after the other: noticed; started; state there; connected; determinants there; all done again."""


@dataclass(slots=True)
class Recovery:
    """One failure's. `parts`: microseconds of each part that the recording tells; `events`: those that it is told by.
    `missing`: the first part that it does not tell, and `lacking` why.

    `age_us`: how long before the failure the checkpoint was triggered that it began from.
    """

    failure: int
    task: str
    attempt: int
    failed_us: int
    standby: bool | None
    rolled_back: bool
    checkpoint: int
    age_us: int | None = None
    done_us: int | None = None
    parts: dict[str, int] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)
    lacking: str = ""
    missing: str = ""

    @property
    def known_us(self) -> int:
        """Up to when its parts are told."""
        return self.failed_us + sum(self.parts.values())

    @property
    def actual_us(self) -> int | None:
        """From the failure until all was done again."""
        return None if self.done_us is None else self.done_us - self.failed_us

    @property
    def evidence(self) -> tuple[str, ...]:
        """As claims name it."""
        return tuple(f"event:{n}" for n in self.events)


def recoveries(source: RecordingSource, story: Story) -> Iterator[Recovery]:
    """In the order of the failures; those that another failure ended before they were over say so."""
    triggered = {
        event.get("checkpoint"): event for event in story.by_number.values() if event["type"] == "checkpoint-triggered"
    }
    for number in sorted(story.failures):
        found = _begun(story, number)
        if found is None:
            continue
        begun = 0 if not found.checkpoint else _time(triggered.get(found.checkpoint))
        found.age_us = None if begun is None else found.failed_us - begun
        take_apart(source, story, found)
        yield found


def _begun(story: Story, number: int) -> Recovery | None:
    failed = story.failures[number]
    task, attempt, t_us = failed.get("task"), failed.get("attempt"), failed.get("t_us")
    if not isinstance(task, str) or type(attempt) is not int or type(t_us) is not int:
        return None
    started = story.starts.get((task, attempt + 1), {})
    standby = started.get("standby")
    return Recovery(
        number,
        task,
        attempt + 1,
        t_us,
        standby if isinstance(standby, bool) else None,
        "rollback" in started,
        story.checkpoint_of(task, attempt + 1),
        events=[failed["n"]] if isinstance(failed.get("n"), int) else [],
    )


def take_apart(source: RecordingSource, story: Story, one: Recovery) -> None:
    """Each mark is looked for behind the one before; the first that is not told ends it."""
    before_us = one.failed_us
    for part, event in _marks(story, one):
        at_us = _time(event)
        if event is None or at_us is None:
            one.missing, one.lacking = part, _ended_first(story, one) or _LACKING[part]
            return
        one.parts[part] = max(0, at_us - before_us)  # clocks of several hosts may go back
        before_us = max(before_us, at_us)
        if isinstance(event.get("n"), int):
            one.events.append(event["n"])
    _replayed(source, story, one, before_us)


_LACKING = {
    "detection": "events.ndjson: failure-detected",
    "start": "events.ndjson: attempt-started",
    "download": "events.ndjson: state-restored",
    "connect": "events.ndjson: recovery-state to WaitingDeterminants",
    "ask": "events.ndjson: recovery-state to Replaying",
}


def _marks(story: Story, one: Recovery) -> Iterator[tuple[str, Event | None]]:
    started = story.starts.get((one.task, one.attempt))
    own = story.of_attempt.get((one.task, one.attempt), [])
    yield "detection", _first(story.by_number.values(), "failure-detected", failure=one.failure)
    restoring, restored = _first(own, "restore-started"), _first(own, "state-restored")
    # A rolled back attempt counts as begun before there is a place for it; a standby may have the state already.
    yield "start", started if one.standby or restoring is None else restoring
    if restored is not None or restoring is not None:
        yield "download", restored
    entered = [_first(own, "recovery-state", to=state) for state in ("WaitingDeterminants", "Replaying")]
    if story.records_states and not (one.rolled_back and entered == [None, None]):
        yield from zip(("connect", "ask"), entered, strict=True)


def _first(events: Any, kind: str, **fields: Any) -> Event | None:
    wanted = fields.items()
    return next((one for one in events if one.get("type") == kind and all(one.get(k) == v for k, v in wanted)), None)


def _time(event: Event | None) -> int | None:
    t_us = None if event is None else event.get("t_us")
    return t_us if type(t_us) is int else None


def _replayed(source: RecordingSource, story: Story, one: Recovery, since_us: int) -> None:
    gaps = source.manifest.protocol.name == GAPS
    done_us = 0 if gaps else done_again_us(Places(source, one.task, one.checkpoint), one.attempt, _before(story, one))
    if done_us is not None:
        one.done_us = max(done_us, since_us)
        one.parts["replay"] = one.done_us - since_us
        return
    there = f"tasks/{one.task}/{one.attempt}/received-*: when it had done again what was lost"
    one.missing, one.lacking = "replay", _ended_first(story, one) or there


def _before(story: Story, one: Recovery) -> list[int]:
    """The attempts that did anything before it; the latest of them, whatever is recorded of it."""
    earlier = [k for k in sorted(story.attempts(one.task)) if k < one.attempt and story.processed(one.task, k)]
    return [k for k in earlier if _was_given_anything(story, one.task, k)][-MOST_BEFORE:] or [one.attempt - 1]


def _was_given_anything(story: Story, task: str, attempt: int) -> bool:
    """False where it was ended before it could take a buffer: at once, or before anybody heard it ask for some."""
    began = _first(story.of_attempt.get((task, attempt), []), "recovery-state", to="Replaying")
    life, began_us = life_of(story.lives, task, attempt), _time(began)
    if life is None or began_us is None:
        return True
    heard = [one for one in story.by_number.values() if one.get("type") == "replay-request-received"]
    asked = (story.by_number.get(one.get("re", -1), {}) for one in heard)
    told = any((one.get("at"), one.get("attempt")) == (task, attempt) for one in asked)
    return life.ended_us > began_us and (told or not heard)


def _ended_first(story: Story, one: Recovery) -> str:
    """Empty where it was not ended."""
    life = life_of(story.lives, one.task, one.attempt)
    if life is None or life.ended_by == ENDED_WITH_RECORDING:
        return ""
    return f"the recovery's end: a {life.ended_by} ended attempt {one.attempt} of {one.task} first"
