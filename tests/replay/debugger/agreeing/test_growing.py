"""Recordings that say that they are not complete, cut anywhere: what is not there yet is no contradiction."""

from __future__ import annotations

import json
from random import Random

import pytest

from replay.debugger.outcome import Outcome
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import ReplayError
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of


def growing(members: MemoryMembers) -> MemoryMembers:
    manifest = json.loads(members.members["job.json"])
    return members.with_("job.json", json.dumps({**manifest, "complete": False}).encode())


def cut(draw: Random, members: MemoryMembers) -> MemoryMembers:
    """All members, some or one, each after any byte."""
    names = [name for name, data in members.members.items() if data and name != "job.json"]
    chosen = draw.sample(names, draw.choice((1, len(names) // 4 + 1, len(names))))
    data = dict(members.members)
    return MemoryMembers({**data, **{name: data[name][: draw.randrange(len(data[name]) + 1)] for name in chosen}})


@pytest.mark.parametrize("seed", range(70_000, 70_014))
def test_wherever_a_growing_recording_is_cut_the_verdict_is_as_before_or_unknown(seed: int) -> None:
    options = random_options(seed)
    bundle, draw = recorded(options), Random(f"cut {seed}")
    whole = growing(MemoryMembers({name: bundle.members.read(name) for name in bundle.members.names()}))
    failure = draw.choice(sorted(Story.read(bundle.events()).failures))
    task = draw.choice(list(bundle.graph.order))
    for asked in ({"failure": failure}, {"task": task, "attempt": 0}):
        before = replay(bundle_of(whole), **asked).verdict
        for _ in range(3):
            outcome = _replayed(cut(draw, whole), asked)
            told = f"{outcome.sentence if outcome else ''} {asked} {options.command()}"
            assert outcome is None or outcome.verdict in (before, "unknown"), told


def _replayed(members: MemoryMembers, asked: dict[str, object]) -> Outcome | None:
    """None where what was asked for is not there yet."""
    try:
        return replay(bundle_of(members), **asked)  # type: ignore[arg-type]
    except ReplayError as refused:
        assert str(refused).endswith(".")
        return None


@pytest.mark.parametrize("on_divergence", ["stop", "go-on"])
def test_what_contradicts_itself_in_a_growing_recording_is_told_and_left_open(on_divergence: str) -> None:
    members = one_failure()
    name = "tasks/map-1.0/0/sent-0/0.buf"
    damaged = bytearray(members.members[name])
    damaged[-1] ^= 1
    asked = {"failure": 0, "on_divergence": on_divergence}
    assert replay(bundle_of(members.with_(name, bytes(damaged))), **asked).verdict == "diverged"  # type: ignore[arg-type]
    outcome = replay(bundle_of(growing(members.with_(name, bytes(damaged)))), **asked)  # type: ignore[arg-type]
    assert outcome.verdict == "unknown"
    assert "is not complete" in outcome.sentence and name in outcome.sentence


def test_a_growing_recording_that_has_what_a_recovery_needs_replays_identically() -> None:
    assert replay(bundle_of(growing(one_failure())), failure=0).verdict == "identical"
