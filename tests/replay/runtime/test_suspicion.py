"""False suspicion: the old attempt runs on, and nothing that it does from its successor's connections on counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from replay.bundle.frames import read_receipts
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.model import TaskId
from replay.runtime.costs import Costs
from replay.runtime.failing.suspicion import Suspicion
from tests.oracle_reader import complaints
from tests.replay.runtime.runs import Done, run

COSTS = Costs(heartbeat_us=5_000, heartbeat_timeout_us=12_000, rpc_us=500)
TASKS = [f"{vertex}.{i}" for vertex in ("source", "map-1", "sink") for i in range(2)]


def suspected(task: str, at_ms: float = 60, duration_ms: float | None = 80, **options: object) -> Done:
    suspicion = Suspicion(TaskId(task), at_ms, duration_ms)
    return run(suspicions=[suspicion], **{"costs": COSTS, **options})  # type: ignore[arg-type]


def written(done: Done, folder: Path) -> Path:
    for name, data in done.members.members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@pytest.mark.parametrize("task", TASKS)
def test_a_suspected_task_is_replaced_and_all_is_still_right(task: str, tmp_path: Path) -> None:
    done = suspected(task)
    (failed,), (detected,) = done.of("task-failed"), done.of("failure-detected")
    assert (failed["task"], failed["cause"], detected["by"]) == (task, "suspected", "heartbeat")
    assert failed["t_us"] - 60_000 in range(COSTS.heartbeat_timeout_us - COSTS.heartbeat_us, 20_000)
    assert done.violations() == []
    assert complaints(written(done, tmp_path)) == []


def test_the_old_attempt_runs_on_after_it_is_fenced() -> None:
    done = suspected("map-1.0")
    failed_us = done.of("task-failed")[0]["t_us"]
    old = [one for one in done.events if one.get("at") == "map-1.0" and one.get("attempt") == 0]
    assert [one for one in old if one["t_us"] > failed_us and one["type"] == "channel-lost"]
    assert not [one for one in old if one["t_us"] > 142_000], "it ends when it hears that it is fenced"


def deliveries(done: Done, task: str) -> dict[str, list[tuple[int, int]]]:
    """By channel, (sender's attempt, received at) in the order of receipt, at the receivers' first attempts."""
    found: dict[str, list[tuple[int, int]]] = {}
    for channel in done.engine.graph.channels:
        if channel.source == task:
            folder = f"tasks/{channel.target}/0/received-{channel.i}/"
            frames = [
                (frame.sender_attempt, frame.received_us)
                for name, data in done.members.members.items()
                if name.startswith(folder)
                for _, frame in read_receipts(bytes(data))
            ]
            found[channel.id] = sorted(frames, key=lambda one: one[1])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_no_receiver_takes_from_both_attempts_at_once(seed: int) -> None:
    done = suspected("map-1.0", seed=seed, costs=replace(COSTS, connect_us=20_000))
    failed_us = done.of("task-failed")[0]["t_us"]
    late, seen = 0, set()
    for channel, frames in deliveries(done, "map-1.0").items():
        attempts = [attempt for attempt, _ in frames]
        assert attempts == sorted(attempts), f"seed {seed}, {channel}: {attempts}"
        seen |= set(attempts)
        late += sum(attempt == 0 and t_us > failed_us for attempt, t_us in frames)
    assert seen == {0, 1}
    assert late, "the old attempt delivers until its receivers are connected to the new one"


def test_the_coordinator_takes_no_acknowledgement_of_a_fenced_attempt() -> None:
    for seed in range(8):
        done = suspected("map-1.0", at_ms=60 + seed, seed=seed, interval_ms=20)
        completed = {one["checkpoint"]: one for one in done.of("checkpoint-completed")}
        failed = done.of("task-failed")[0]
        for checkpoint, event in completed.items():
            if event["n"] < failed["n"]:
                continue
            mine = [
                one["attempt"]
                for one in done.of("checkpoint-acknowledged")
                if (one["task"], one["checkpoint"]) == ("map-1.0", checkpoint)
            ]
            assert 1 in mine, f"seed {seed}: checkpoint {checkpoint} completed by {mine}"


def test_heartbeats_that_come_in_time_after_all_suspect_nobody() -> None:
    done = suspected("map-1.0", duration_ms=2)
    assert done.of("task-failed") == []
    assert [one.task for one in done.engine.failures.suspicions.not_made] == ["map-1.0"]


def test_a_recovery_after_a_suspicion_replays_identical(tmp_path: Path) -> None:
    done = suspected("map-1.0", seed=3)
    verdict = replay(open_bundle(written(done, tmp_path)), failure=0)
    assert verdict.verdict in ("identical", "free"), verdict


@pytest.mark.parametrize("seed", range(12))
def test_random_suspicions_in_every_moment(seed: int, tmp_path: Path) -> None:
    draw = Random(f"suspicions {seed}")
    suspicions = [
        Suspicion(TaskId(draw.choice(TASKS)), draw.uniform(5, 160), draw.choice((None, draw.uniform(10, 80))))
        for _ in range(draw.choice((2, 3)))
    ]
    standby, depth = draw.choice((0, 1, 2)), draw.choice((None, None, 1))
    done = run(seed=seed, suspicions=suspicions, costs=COSTS, standby=standby, sharing_depth=depth)
    assert done.violations() == [], f"seed {seed}: {suspicions}"
    bundle = open_bundle(written(done, tmp_path))
    for event in done.of("task-failed"):
        told = replay(bundle, failure=event["failure"])
        assert told.verdict != "diverged", f"seed {seed}, failure {event['failure']}: {told}"


def test_a_suspicion_and_its_causes_are_the_same_again() -> None:
    one, other = suspected("map-1.1"), suspected("map-1.1")
    assert one.members.members == other.members.members
    assert json.dumps(one.events) == json.dumps(other.events)
