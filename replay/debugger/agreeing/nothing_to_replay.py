"""Recoveries that have nothing to replay, or nothing more, as events and logs tell of them: in that moment they run."""

from __future__ import annotations

from typing import NoReturn

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.model import MAIN


def check_nothing_to_replay(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first task that is never said to run, though nothing holds it back."""
    if source.manifest.clock.kind != "virtual" or not source.manifest.complete:
        return
    for (task, attempt), events in story.of_attempt.items():
        replays = [one for one in events if one.get("type") == "recovery-state" and one.get("to") == "Replaying"]
        if replays and not any(_runs(one) for one in events):
            returned = {
                epoch: upto for (thread, epoch), upto in story.returned_to(task, attempt).items() if thread == MAIN
            }
            if not any(returned.values()):
                _differs(replays[-1], task, attempt, "of its main log nothing was returned")
            if all(
                upto <= len(source.log_bytes(task, attempt, MAIN, epoch) or b"") for epoch, upto in returned.items()
            ):
                size = sum(returned.values())
                _differs(replays[-1], task, attempt, f"its own main log has all {size} bytes that were returned of it")


def _runs(event: Event) -> bool:
    return event.get("type") == "recovery-state" and event.get("to") == "Running"


def _differs(replays: Event, task: str, attempt: int, why: str) -> NoReturn:
    raise DivergenceFound(
        f"Event {replays.get('n')}: recovery-state says that attempt {attempt} of {task} replays, and {why}, so that "
        f"it runs at once; but no recovery-state to Running says so.",
        member="events.ndjson",
        event=replays.get("n"),
    )
