"""Beyond what was returned a replay follows the new attempt's own log, and says that it is a new execution."""

from __future__ import annotations

from random import Random

import pytest

from replay.bundle.frames import BUFFER_HEAD_BYTES, read_buffers
from replay.debugger.executing.following import UNTIL, Until
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded, replays_of
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, alone, bundle_of


def replayed(until: Until, **options: object) -> tuple[Kept, dict[str, object], str]:
    kept = Kept()
    outcome = replay(bundle_of(one_failure(**options)), failure=0, until=until, sink=kept)
    assert outcome.verdict == "identical", outcome.sentence
    return kept, dict(outcome.detail), outcome.sentence


def test_a_replay_that_is_to_end_where_the_task_runs_follows_nothing_of_its_own() -> None:
    kept, detail, sentence = replayed("running")
    assert "new execution" not in sentence and "beyond" not in detail
    assert not any("own log" in row.text for row in kept.rows)


def test_up_to_the_next_snapshot_every_choice_is_said_to_be_the_attempts_own() -> None:
    before, _, _ = replayed("running")
    kept, detail, sentence = replayed("snapshot")
    beyond = detail["beyond"]
    assert isinstance(beyond, dict) and beyond["log_bytes"] > 0 and beyond["snapshots"] == 1
    assert f"up to its snapshot of checkpoint {beyond['stopped_at_checkpoint']}" in sentence
    assert "from there on attempt 1 is a new execution" in sentence
    running = next(row.step for row in kept.rows if row.kind == "transition" and row.state == "Running")
    own = [row for row in kept.rows if "new attempt's own log" in row.text]
    assert own and all(row.step > running and row.state == "Running" for row in own if row.actor == "main")
    names = {cause for step, cause in kept.causes if cause.startswith("det:") and step in {row.step for row in own}}
    assert names and all(name.startswith("det:map-1.0/1/") for name in names)
    assert sum(row.kind == "hold-back" for row in kept.rows) == sum(row.kind == "hold-back" for row in before.rows)


def test_to_its_end_the_whole_log_of_the_attempt_is_appended_again() -> None:
    _, detail, sentence = replayed("end")
    bundle = bundle_of(one_failure())
    checkpoint = Story.read(bundle.events()).checkpoint_of("map-1.0", 1)
    own = sum(
        bundle.members.size(name)
        for name in bundle.members.names("tasks/map-1.0/1/")
        if name.endswith(".det") and int(name.rpartition("/")[2].removesuffix(".det")) >= checkpoint
    )
    beyond = detail["beyond"]
    assert isinstance(beyond, dict) and beyond["log_bytes"] + detail["log_bytes"] == own
    assert "along its own log to its end" in sentence


def test_where_nothing_was_returned_the_whole_attempt_is_followed_as_a_new_execution() -> None:
    kept = Kept()
    outcome = replay(bundle_of(one_failure(task="sink.0")), failure=0, until="end", sink=kept)
    assert outcome.verdict == "free" and outcome.detail["beyond"]["log_bytes"] > 0
    assert kept.kinds["deliver-record"] > 20 and kept.rows[-1].state == "Running"


def test_after_a_rollback_the_new_execution_is_followed_too() -> None:
    options = RecordOptions(
        events=300, checkpoint_interval_ms=40, depth=4, sharing_depth=1, kills=("map-1.0@64+map-2.0@64",)
    )
    bundle = recorded(options)
    story = Story.read(bundle.events())
    assert story.rollbacks, options.command()
    for failure, verdict in ((0, "free"), (1, "identical")):
        outcome = alone(bundle, failure, until="end", sink=(kept := Kept()))
        assert outcome.verdict == verdict, outcome.sentence
        if verdict == "identical":
            assert "ended before it had appended again all that was returned" in outcome.sentence, outcome.sentence
            continue
        assert "everything was rolled back" in outcome.sentence, outcome.sentence
        assert "beyond" in outcome.detail and kept.kinds["deliver-record"], outcome.sentence
        assert kept.rows[-1].state == "Running" and kept.rows[-1].t_us > kept.rows[0].t_us


@pytest.mark.parametrize("protocol", ["none", "coordinated"])
def test_where_nothing_is_logged_that_is_why_nothing_can_be_followed(protocol: str) -> None:
    outcome = replay(bundle_of(one_failure(protocol=protocol)), failure=0, sink=(kept := Kept()))
    assert outcome.verdict == "free"
    assert f"can't be followed: the protocol {protocol} logs nothing" in outcome.sentence
    assert kept.rows[-1].state == "Running" and kept.rows[-1].t_us >= 115_000


def test_a_byte_that_differs_beyond_what_was_returned_is_a_divergence_too() -> None:
    members = one_failure(at_ms=90)
    own = [
        (name, offset, frame)
        for name in members.names("tasks/map-1.0/1/sent-")
        if name.endswith(".buf")
        for offset, frame in read_buffers(members.read(name), epoch=0)
        if not frame.held_back and not frame.is_event
    ]
    name, offset, frame = Random("beyond").choice(own)
    data = bytearray(members.read(name))
    data[offset + BUFFER_HEAD_BYTES + len(frame.payload) - 1] ^= 1
    outcome = replay(bundle_of(members.with_(name, bytes(data))), failure=0, until="end")
    assert outcome.verdict == "diverged" and f"buffer {frame.seq} of" in outcome.sentence, outcome.sentence


# What random command lines showed of recoveries past lost choices, and of those that ended early.
FOUND = {
    190: "tasks that recover without determinants ask nobody, and share nothing of epochs that bind nobody",
    599: "a sink that recovers without determinants gives its world all of it again",
    1013: "receivers drop half a record that a sender began which recovers without determinants",
    28: "a replay that stops at a snapshot leaves buffers that are still to be cut",
}


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_by_chance_stays_mended(seed: int) -> None:
    found = replays_of(seed)
    assert not found.faults, f"{found.command}\n" + "\n".join(found.faults)


@pytest.mark.parametrize("until", UNTIL)
def test_past_lost_choices_a_recovery_is_followed_as_far_as_determinants_went_and_on(until: Until) -> None:
    options = RecordOptions(
        job="nexmark-q11",
        seed=407270,
        events=150,
        parallelism=3,
        checkpoint_interval_ms=40,
        sharing_depth=1,
        window_ms=20,
        kills=("count.0@48.0", "bids.2@42.2", "sink.1@39.7"),
        on_lost="continue",
    )
    bundle = recorded(options)
    story = Story.read(bundle.events())
    verdicts = set()
    for failure in story.failures:
        outcome = alone(bundle, failure, until=until)
        returned = any(story.returned_to(outcome.task, outcome.attempt or 0).values())
        assert outcome.verdict == ("identical" if returned else "free"), outcome.sentence
        assert until == "running" or "new execution" in outcome.sentence
        if story.recovers_without_determinants(outcome.task, outcome.attempt or 0):
            assert "choices above it were lost" in outcome.sentence and "nobody depends" not in outcome.sentence
        verdicts.add(outcome.verdict)
    assert verdicts
