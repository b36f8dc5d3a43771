"""When each step was: what the recording proves of the attempt that is replayed, and of no other."""

from __future__ import annotations

import re

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.outcome import Outcome
from replay.debugger.ports import StepRow
from replay.debugger.recorded.story import Event, Story
from replay.debugger.replay import replay
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, alone, bundle_of, world_of

WORLDS = range(700, 748)
OWN_EVENT = re.compile(r"event:(\d+)")


def check_times(bundle: Bundle, outcome: Outcome, kept: Kept, where: str) -> int:
    """How many recorded events and takes were found again in the steps, each at its time."""
    times = [row.t_us for row in kept.rows]
    assert times == sorted(times), where
    story = Story.read(bundle.events())
    events = story.of_attempt.get((outcome.task, outcome.attempt or 0), [])
    return (
        _states_are_entered_when_recorded(kept, events, where)
        + _told_when_it_happened(kept, {event["n"]: event for event in events}, where)
        + _taken_when_received(bundle, outcome, kept, where)
    )


def _states_are_entered_when_recorded(kept: Kept, events: list[Event], where: str) -> int:
    recorded = [(event["to"], event["t_us"]) for event in events if event["type"] == "recovery-state"]
    entered: list[tuple[str, int]] = []
    for before, row in zip([None, *kept.rows], kept.rows, strict=False):
        if row.kind == "transition" and row.state != (before.state if before else "Standby"):
            entered.append((row.state, row.t_us))
    assert entered[: len(recorded)] == recorded[: len(entered)], where
    return len(entered)


def _told_when_it_happened(kept: Kept, events: dict[int, Event], where: str) -> int:
    """Restores, reconnections, requests and answers: steps that are written where their event is taken."""
    found, first = 0, dict[int, StepRow]()
    for step, cause in kept.causes:
        numbered = OWN_EVENT.fullmatch(cause)
        if numbered and int(numbered[1]) in events:
            first.setdefault(int(numbered[1]), kept.rows[step])
    for number, row in first.items():
        if row.kind in ("restore", "transition", "request", "answer"):
            assert row.t_us == events[number]["t_us"], f"{row} {where}"
            found += 1
    return found


def _taken_when_received(bundle: Bundle, outcome: Outcome, kept: Kept, where: str) -> int:
    """Main stands at the times of this attempt's receipts; a take that only an earlier one tells of has no own time."""
    found = 0
    for i, channel in enumerate(bundle.graph.task(outcome.task).inputs):
        receipts = bundle.receipts(outcome.task, outcome.attempt or 0, i)
        taken = {receipt.seq: receipt.taken_us for receipt in receipts if receipt.taken}
        for row in kept.rows:
            if row.kind == "take-buffer" and row.channel == channel and row.buffer in taken:
                assert row.t_us == taken[row.buffer], f"{row} {where}"
                found += 1
    return found


@pytest.mark.parametrize("seed", WORLDS)
def test_steps_of_a_recovery_are_at_the_times_of_its_events_and_takes(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    for failure in sorted(Story.read(bundle.events()).failures)[:4]:
        kept = Kept()
        outcome = alone(bundle, failure, sink=kept)
        found = check_times(bundle, outcome, kept, f"failure {failure} {world.reproduce_with}")
        assert found or outcome.verdict == "free", world.reproduce_with


def test_a_barrier_of_later_is_not_taken_while_the_log_is_followed() -> None:
    """It asks no log: only its receipt tells that it came after what the other channel still had to give."""
    for seed, at_ms in ((9, 115), (9, 119), (24, 119)):
        bundle = bundle_of(one_failure(seed=seed, at_ms=at_ms))
        kept = Kept()
        outcome = replay(bundle, failure=0, sink=kept)
        assert outcome.verdict == "identical" and kept.kinds["take-buffer"] >= 10
        assert check_times(bundle, outcome, kept, f"seed {seed}") > kept.kinds["take-buffer"]


def test_an_attempt_executed_again_begins_when_it_began() -> None:
    bundle = bundle_of(one_failure())
    story = Story.read(bundle.events())
    for task, attempt in (("source.0", 0), ("map-1.0", 1)):
        kept = Kept()
        outcome = replay(bundle, task=task, attempt=attempt, sink=kept)
        assert kept.rows[0].t_us == story.starts[task, attempt]["t_us"]
        check_times(bundle, outcome, kept, task)
