"""Recoveries and the answers that they asked for, as events tell of them: with the last one they replay, not before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story


def check_answered(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first task that replays though it awaits more, or never, awaiting nothing."""
    if source.manifest.clock.kind != "virtual":
        return
    for (task, attempt), events in story.of_attempt.items():
        last = _last_answer(task, attempt, events)
        if last is not None and source.manifest.complete and story.last_state(task, attempt) == "WaitingDeterminants":
            number = int(last["n"])
            _differs(
                number + 1,
                f"recovery-state of {task}, attempt {attempt}, to Replaying must stand here, as event {number} "
                f"(determinants-received) brings the last of the answers that it asked for; no event says that it "
                f"replays",
                cause=number,
            )


def check_answers(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first request that an attempt did not answer at once, though it executed from a
    beginning: such a one knows enough, whatever choices others have lost."""
    if source.manifest.clock.kind != "virtual" or not source.manifest.complete:
        return
    for number, event in story.by_number.items():
        task, attempt = str(event.get("at")), event.get("attempt")
        if event.get("type") != "determinants-request-received" or not isinstance(attempt, int):
            continue
        began = story.starts.get((task, attempt), {})
        after = story.by_number.get(number + 1, {})
        answers = after.get("type") == "determinants-returned" and after.get("re") == number
        if began and "failure" not in began and not answers:
            _differs(
                number + 1,
                f"determinants-returned by {task}, attempt {attempt}, must stand here, as by event {number} it is "
                f"asked for what it holds of {event.get('of')}; here is {after.get('type', 'nothing')}",
                cause=number,
            )


def _last_answer(task: str, attempt: int, events: Iterable[Event]) -> Event | None:
    """The event by which nothing is awaited any more; None where something is, or all is given up. What an output that
    is lost had answered is void."""
    asked: dict[str, object] = {}
    awaited: set[str] = set()
    last: Event | None = None
    for event in events:
        kind, channel = event.get("type"), str(event.get("channel"))
        if kind == "escalated":
            return None
        if kind == "recovery-state" and event.get("to") == "Replaying":
            for one in sorted(awaited):
                _awaits(event, task, attempt, one, asked[one])
            return None
        if kind == "determinants-requested" and event.get("of") == task:
            asked[channel] = event.get("n")
            awaited.add(channel)
        elif kind == "channel-lost" and event.get("side") == "output" and channel in asked and last is None:
            awaited.add(channel)
        elif kind == "determinants-received" and event.get("of") == task:
            awaited.discard(channel)
            last = None if awaited or not isinstance(event.get("n"), int) else event
    return last


def _awaits(event: Event, task: str, attempt: int, channel: str, asked: object) -> NoReturn:
    _differs(
        event.get("n"),
        f"recovery-state says that {task}, attempt {attempt}, replays, but by event {asked} it asked for "
        f"determinants over {channel}, and no determinants-received by {channel} says that they came",
        cause=asked,
    )


def _differs(number: object, why: str, cause: object) -> NoReturn:
    raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, cause=cause)
