"""A sink that is taken for failed and is not writes and commits for a while beside its successor: all ends right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from replay.errors import CorruptRecording
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.outside.world import World
from replay.runtime.recorder import MemoryMembers
from tests.oracle.jobs import sink_complaints
from tests.oracle.outside import written_records
from tests.oracle_reader import Recording, complaints

SINKS = ("plain", "transactional", "idempotent", "determinant")
STRONG = SINKS[1:]
SEEDS = range(8)
EVENTS = 1200


def suspected(out: Path, seed: int, sink: str) -> Recording:
    """Sinks that are behind with their work are suspected, while calls to them take their time."""
    draw = Random(f"zombies {seed} {sink}")
    options: dict[str, Any] = {
        "seed": seed,
        "events": EVENTS,
        "rate_per_s": 8000.0,
        "sink": sink,
        "suspects": tuple(f"sink.{draw.randrange(2)}@{draw.uniform(10, 150):.2f}" for _ in range(draw.choice((1, 2)))),
        "standby": draw.choice((0, 1)),
        "sharing_depth": draw.choice((None, None, 2)),
        "depth": draw.choice((2, 3)),
        "checkpoint_interval_ms": draw.choice((15, 40)),
        "heartbeat_ms": 5,
        "heartbeat_timeout_ms": 30,
    }
    run = run_of(RecordOptions(**options), PROTOCOLS)
    slow = replace(run.costs, rpc_us=draw.choice((500, 8000)), record_us=draw.choice((40, 240)))
    members = MemoryMembers()
    engine = Engine(replace(run, costs=slow), members)
    engine.run()
    return Recording(written(run.manifest.to_bytes(), members, out))


def written(manifest: bytes, members: MemoryMembers, folder: Path) -> Path:
    for name, data in {**members.members, "job.json": manifest}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def fenced(recording: Recording) -> dict[tuple[str, int], int]:
    """When each attempt was given up that ran on."""
    return {
        (one["task"], one["attempt"]): one["t_us"]
        for one in recording.events
        if one["type"] == "task-failed" and one["cause"] == "suspected"
    }


def zombie_writes(recording: Recording) -> int:
    """Lines that an attempt of a sink wrote after it was given up."""
    given_up = fenced(recording).items()
    return sum(line["t_us"] > t_us for who, t_us in given_up for line in recording.lines(*who, "sink"))


def zombie_commits(recording: Recording) -> int:
    """Transactions and write-ahead logs that such an attempt brought to their end."""
    given_up = fenced(recording)
    ends = (one for one in recording.events if one["type"] == "epoch-committed")
    return sum(one["t_us"] > given_up.get((one["at"], one["attempt"]), one["t_us"]) for one in ends)


def wrong(recording: Recording) -> list[str]:
    return [*complaints(recording.path), *sink_complaints(recording)]


@pytest.mark.parametrize("sink", SINKS)
def test_the_outside_ends_right(tmp_path: Path, sink: str) -> None:
    writes = commits = 0
    for seed in SEEDS:
        recording = suspected(tmp_path / str(seed), seed, sink)
        assert fenced(recording), f"seed {seed}"
        assert wrong(recording) == [], f"seed {seed}"
        if sink in STRONG:
            counted, _ = written_records(recording)
            names = sorted(one.names for one in counted)
            assert len(set(names)) == len(names) == EVENTS, f"seed {seed}: not exactly once"
        writes, commits = writes + zombie_writes(recording), commits + zombie_commits(recording)
    assert writes, "else nobody ran on"
    assert commits or sink not in ("transactional", "idempotent"), "else nobody committed after it was given up"


@pytest.mark.parametrize("sink", ("transactional", "determinant"))
def test_a_world_that_refused_nobody_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str) -> None:
    """What is checked above is wrong at once where the world takes the writes of who was given up."""
    monkeypatch.setattr(World, "refuses", lambda self, attempt: False)
    assert any(_is_seen(tmp_path / str(seed), seed, sink) for seed in SEEDS)


def _is_seen(out: Path, seed: int, sink: str) -> bool:
    try:
        return bool(wrong(suspected(out, seed, sink)))
    except CorruptRecording:  # the world was given two lineages of one log
        return True
