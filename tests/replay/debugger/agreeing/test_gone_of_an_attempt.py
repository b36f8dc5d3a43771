"""What is gone of an attempt is missed where all that is left of it agrees: nothing of it is called identical."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay.debugger.replay import replay
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.recordings import failing, one_failure
from tests.replay.debugger.worlds import bundle_of


@pytest.mark.parametrize(
    "options, gone",
    [
        ({}, "main/0.det"),
        ({}, "received-0/0.rcv"),
        ({}, "received-1/1.rcv"),
        ({"protocol": "pessimistic"}, "sink/1.ndjson"),
        ({"sink": "transactional", "protocol": "pessimistic"}, "sink/0.ndjson"),
        ({"sink": "idempotent"}, "sink/1.ndjson"),
    ],
    ids=["log", "receipts", "later-receipts", "late-writes", "sealed-writes", "flushed-writes"],
)
def test_an_attempt_is_not_identical_to_what_is_gone(options: dict[str, Any], gone: str) -> None:
    members, member = one_failure(**options), f"tasks/sink.0/0/{gone}"
    assert members.size(member) > 0
    assert replay(bundle_of(members), task="sink.0", attempt=0).verdict == "identical"
    outcome = replay(bundle_of(members.without(member)), task="sink.0", attempt=0)
    assert outcome.verdict == "unknown", outcome.sentence
    assert f"lacks {member}" in outcome.sentence


def test_nor_is_a_recovery_whose_attempt_took_more_than_is_there() -> None:
    members = failing("sink.0@115", protocol="pessimistic")
    last = [name for name in members.names("tasks/sink.0/1/received-0/") if members.size(name)][-1]
    assert replay(bundle_of(members), failure=0, until="end").verdict == "identical"
    outcome = replay(bundle_of(members.without(last)), failure=0, until="end")
    assert outcome.verdict == "unknown" and last in outcome.sentence


def test_receipts_may_be_gone_where_the_log_goes_on_by_itself() -> None:
    """An attempt that cut nothing yet, of which nothing but its log shows that it took anything."""
    members = one_failure(at_ms=70, parallelism=1, flush_ms=50.0, buffer_bytes=32768, checkpoint_interval_ms=400)
    mine = [name for name in members.names("tasks/map-1.0/0/received-") if members.size(name)]
    assert mine and members.size("tasks/map-1.0/0/main/0.det") and not list(members.names("tasks/map-1.0/0/sent-"))
    outcome = replay(bundle_of(members.without(*mine)), task="map-1.0", attempt=0)
    assert outcome.verdict == "unknown", outcome.sentence
    assert "received-" in outcome.sentence


def test_a_snapshot_that_is_gone_is_said_to_be() -> None:
    members = one_failure().without("sink.0/0/state/3")
    outcome = replay(bundle_of(members), task="sink.0", attempt=0)
    assert outcome.verdict == "identical"
    assert "the recording lacks 1 snapshot of it to compare with" in outcome.sentence


def test_a_write_ahead_log_is_flushed_to_its_end() -> None:
    members, member = one_failure(sink="idempotent"), "tasks/sink.0/0/sink/1.ndjson"
    cut = b"".join(members.read(member).splitlines(keepends=True)[:-1])
    outcome = replay(bundle_of(members.with_(member, cut)), failure=0)
    assert outcome.verdict == "diverged"
    assert "is flushed, with" in outcome.sentence and member in outcome.sentence


def test_every_write_has_a_number() -> None:
    members, member = one_failure(), "tasks/sink.0/0/sink/1.ndjson"
    lines = members.read(member).splitlines(keepends=True)
    lines[2] = json.dumps({**json.loads(lines[2]), "n": None}).encode() + b"\n"
    outcome = replay(bundle_of(members.with_(member, b"".join(lines))), failure=0)
    assert outcome.verdict == "diverged" and "has no number" in outcome.sentence


@pytest.mark.parametrize(
    "field, value", [("channel", "map-1.0>sink."), ("channel", None), ("attempt", {}), ("at", "map-1.9"), ("at", [])]
)
def test_an_event_names_a_channel_and_an_attempt(field: str, value: object) -> None:
    members = one_failure()
    lines = [json.loads(line) for line in members.read("events.ndjson").splitlines()]
    one = next(line for line in lines if line["type"] == "channel-reconnected")
    one[field] = value
    events = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    outcome = replay(bundle_of(members.with_("events.ndjson", events)), failure=0)
    assert outcome.verdict == "diverged", outcome.sentence


def test_nothing_is_gone_where_a_timer_wrote_before_anything_came() -> None:
    """Records of an epoch in which the attempt was given nothing: those of a window that ended meanwhile."""
    bundle = recorded(random_options(710145))
    folder = "tasks/count.0/2/"
    assert bundle.members.size(f"{folder}sent-0/3.buf") and f"{folder}received-0/3.rcv" not in bundle.members
    outcome = replay(bundle, task="count.0", attempt=2)
    assert outcome.verdict == "identical", outcome.sentence


def test_nothing_is_gone_where_a_recovering_task_passed_on_what_was_returned_to_it() -> None:
    """It returned bytes of a log that only a channel could have brought it, of which it had received nothing yet."""
    bundle = recorded(random_options(911048))
    assert bundle.members.size("tasks/dispatch.1/1/received-0/0.rcv")
    assert "tasks/dispatch.1/1/received-1/0.rcv" not in bundle.members
    outcome = replay(bundle, task="dispatch.1", attempt=1)
    assert outcome.verdict == "identical", outcome.sentence
