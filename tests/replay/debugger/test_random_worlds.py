"""Random worlds: a replay is identical wherever determinants were returned, and never wrongly so."""

from __future__ import annotations

import pytest

from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from tests.replay.debugger.worlds import Kept, alone, bundle_of, world_of

pytestmark = pytest.mark.slow

WORLDS = range(100, 180)
FOUND_LATER = {
    20038: "an attempt that began with a rollback lost a channel, and asked for its buffers as one that runs",
    116: "what begins anew past lost choices shares nothing of the epochs that it contradicts",
    182: "the first bytes of a log came in the very microsecond of the answer that there are none",
    192: "a sender began anew at an epoch that its receiver had left, so that receipts are filed before their time",
}


@pytest.mark.parametrize("seed", sorted({*WORLDS, *FOUND_LATER}))
def test_a_recovery_replays_identically_where_determinants_were_returned(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    story = Story.read(bundle.events())
    for failure in sorted(story.failures)[:: 1 if seed % 8 == 0 or seed in FOUND_LATER else 4]:
        kept = Kept()
        outcome = alone(bundle, failure, sink=kept)
        where = f"failure {failure}: {outcome.sentence} {world.reproduce_with}"
        replayed = "Replaying" in _states(story, outcome.task, outcome.attempt)
        returned = any(story.returned_to(outcome.task, outcome.attempt or 0).values())
        assert outcome.verdict == ("identical" if replayed and returned else "free"), where
        assert outcome.exit_status == 0 and outcome.steps == len(kept.rows) > 0
        assert kept.rows[-1].kind == "finish" and kept.rows[-1].text == outcome.sentence
        if outcome.verdict == "identical":
            assert kept.rows[-1].state == "Running", where
            assert all(matches for *_, matches in kept.buffers if matches is not None), where


def _states(story: Story, task: str, attempt: int | None) -> list[str]:
    events = story.of_attempt.get((task, attempt or 0), ())
    return [str(event["to"]) for event in events if event["type"] == "recovery-state"]


@pytest.mark.parametrize("seed", range(40, 60))
def test_every_attempt_replays_identically_from_its_own_log(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    for task in bundle.tasks():
        for attempt in bundle.attempts(task):
            outcome = replay(bundle, task=task, attempt=attempt)
            has_log = any(name.endswith(".det") for name in members.names(f"tasks/{task}/{attempt}/"))
            expected = "identical" if has_log else "unknown"
            assert outcome.verdict == expected, f"{task} {attempt}: {outcome.sentence} {world.reproduce_with}"


@pytest.mark.parametrize("seed", range(60, 72))
def test_the_state_machine_goes_as_it_went(seed: int) -> None:
    """The states of the steps are those that the live recovery recorded, in that order."""
    world, members = world_of(seed)
    bundle = bundle_of(members)
    story = Story.read(bundle.events())
    for failure in story.failures:
        kept = Kept()
        outcome = alone(bundle, failure, sink=kept)
        recorded = _states(story, outcome.task, outcome.attempt)
        seen = list(dict.fromkeys(row.state for row in kept.rows if row.state != "Standby"))
        assert seen[: len(recorded)] == recorded, f"failure {failure}: {world.reproduce_with}"
