"""Past a gap in a log nothing is proven: no replay of it is identical, and no comparison says the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.replay import replay
from replay.debugger.sides.attempts import Side, compare_attempts
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded
from tests.replay.debugger.worlds import Kept, MemoryMembers

OPTIONS = RecordOptions(seed=5, events=400, depth=3, parallelism=2, kills=("map-1.0@150",), checkpoint_interval_ms=100)
TASK = "map-1.0"
RECOVERY: dict[str, Any] = {"failure": 0}
ATTEMPT: dict[str, Any] = {"task": TASK, "attempt": 1}


@pytest.fixture(scope="module")
def members() -> MemoryMembers:
    return MemoryMembers(dict(recorded(OPTIONS).members.members))


def with_gap(members: MemoryMembers, task: str = TASK, attempt: int = 1) -> MemoryMembers:
    """The recorder says that it left something out; nothing else of the recording is another."""
    told = members.members["events.ndjson"]
    last = json.loads(told.splitlines()[-1])
    gap = {"n": last["n"] + 1, "t_us": last["t_us"], "type": "gap", "task": task, "attempt": attempt}
    gap |= {"thread": "main", "epoch": 2, "offset": 0, "why": "the disk was full"}
    return members.with_("events.ndjson", told + json.dumps(gap).encode() + b"\n")


@pytest.mark.parametrize("asked", [RECOVERY, ATTEMPT], ids=["recovery", "attempt"])
def test_a_replay_of_a_log_with_a_gap_is_not_verifiable(members: MemoryMembers, asked: dict[str, Any]) -> None:
    assert replay(Bundle(members), **asked, sink=Kept()).verdict == "identical"
    outcome = replay(Bundle(with_gap(members)), **asked, sink=Kept())
    assert outcome.verdict == "unknown" and outcome.exit_status == 3 and outcome.detail["gaps"] == 1
    assert outcome.sentence.startswith("Not verifiable: ") and "1 gap" in outcome.sentence


def test_gaps_elsewhere_leave_a_verdict_alone(members: MemoryMembers) -> None:
    assert replay(Bundle(with_gap(members, attempt=0)), **ATTEMPT, sink=Kept()).verdict == "identical"
    assert replay(Bundle(with_gap(members, task="map-1.1")), **ATTEMPT, sink=Kept()).verdict == "identical"


def test_a_divergence_may_come_of_what_was_left_out(members: MemoryMembers) -> None:
    name = next(name for name in members.members if name.startswith(f"tasks/{TASK}/1/sent-0/"))
    data = bytearray(members.members[name])
    data[-1] ^= 1
    broken = members.with_(name, bytes(data))
    assert replay(Bundle(broken), **ATTEMPT, sink=Kept()).verdict == "diverged"
    for more in ({}, {"on_divergence": "go-on"}):
        outcome = replay(Bundle(with_gap(broken)), **ATTEMPT, **more, sink=Kept())
        assert outcome.verdict == "unknown" and "may be why it differs. What was found:" in outcome.sentence


def test_attempts_side_by_side_are_not_called_the_same(members: MemoryMembers) -> None:
    def compared(first: MemoryMembers) -> dict[str, Any]:
        return compare_attempts(Side(Bundle(first), TASK, 1, "the one"), Side(Bundle(members), TASK, 1, "the other"))

    assert compared(members)["equal"] is True
    report = compared(with_gap(members))
    assert report["equal"] is False and report["gaps"] == 1
    assert report["sentence"] == (
        "Not verifiable: the log of the one has 1 gap, and what its recorder left out was compared with nothing. "
        "Nothing else differs."
    )
