"""`--on-lost continue`: past the sharing depth the job goes on; nothing is lost, and what is below may count twice."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest

from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import MemoryMembers, bundle_of
from tests.replay.runtime.outside import delivered, events_of, faults, read

SEEDS = range(12)
SINKS = ("plain", "transactional", "idempotent", "determinant")


@cache
def random_run(seed: int) -> tuple[RecordOptions, dict[str, bytes]]:
    """Neighbours fail together, so that what a task two hops below depends on is lost; then others, anywhere."""
    draw = Random(f"losses {seed}")
    names = [f"{vertex}.{i}" for vertex in ("source", "map-1", "map-2", "sink") for i in (0, 1)]
    at_ms = draw.randint(20, 150)
    blows = [f"map-1.{draw.randint(0, 1)}@{at_ms}+map-2.0@{at_ms}+map-2.1@{at_ms}"]
    for _ in range(draw.choice((0, 1, 2))):
        later_ms = at_ms + draw.randint(1, 120)
        blows.append("+".join(f"{one}@{later_ms}" for one in draw.sample(names, draw.randint(1, 4))))
    given: dict[str, Any] = {
        "seed": seed,
        "events": draw.choice((150, 400)),
        "depth": 4,
        "sharing_depth": 1,
        "on_lost": "continue",
        "sink": SINKS[seed % len(SINKS)],
        "standby": draw.choice((0, 1)),
        "checkpoint_interval_ms": draw.choice((20, 60, 150)),
        "buffer_bytes": draw.choice((64, 200, 1000)),
        "kills": tuple(blows),
    }
    options = RecordOptions(**given)
    run = run_of(options, PROTOCOLS)
    members = EngineMembers()
    Engine(run, members).run()
    files = {name: bytes(data) for name, data in members.members.items()}
    return options, {**files, "job.json": run.manifest.to_bytes()}


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_and_nothing_is_rolled_back(seed: int) -> None:
    options, files = random_run(seed)
    assert not events_of(files, "global-rollback")
    assert faults(files) == [], options.command()
    assert set(delivered(files)) == read(files), options.command()


def test_some_escalate_and_some_deliver_twice() -> None:
    runs = [random_run(seed)[1] for seed in SEEDS]
    assert any(events_of(files, "escalated") for files in runs)
    assert any(max(delivered(files).values()) > 1 for files in runs if events_of(files, "escalated"))


@pytest.mark.parametrize("seed", SEEDS)
def test_who_recovers_without_determinants_asks_for_none_and_says_so(seed: int) -> None:
    _, files = random_run(seed)
    diverged = {(one["task"], one["attempt"]) for one in events_of(files, "attempt-started") if one.get("diverged")}
    asked = {
        (one["at"], one["attempt"]) for one in events_of(files, "determinants-requested") if one["of"] == one["at"]
    }
    assert not asked & diverged
    assert not diverged or events_of(files, "escalated")


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_above_the_loss_counts_each_record_once(seed: int) -> None:
    """Sources are below nobody: whatever happens to the rest, they read each record once."""
    _, files = random_run(seed)
    last = max(one["checkpoint"] for one in events_of(files, "checkpoint-completed"))
    acknowledged = [one for one in events_of(files, "checkpoint-acknowledged") if one["checkpoint"] == last]
    counted = 0
    for one in acknowledged:
        if one["task"].startswith("source."):
            counted += json.loads(files[f"tasks/{one['task']}/{one['attempt']}/state/{last}.json"])["operator"][
                "records"
            ]
    assert counted == len(read(files))


def test_recoveries_past_lost_choices_replay_as_they_were() -> None:
    escalated = [files for seed in SEEDS if events_of(files := random_run(seed)[1], "escalated")]
    verdicts = Counter(
        replay(bundle_of(MemoryMembers(files)), task=one["task"], failure=one["failure"]).verdict
        for files in escalated
        for one in events_of(files, "task-failed")
    )
    assert verdicts["identical"] and not verdicts["diverged"], verdicts


def test_a_suspected_attempt_whose_recovery_is_given_up_ends_and_has_one_successor() -> None:
    """It had failed already, as the coordinator sees it: one failure is what begins a new attempt."""
    suspected = {"suspects": ("map-2.0@366",), "heartbeat_ms": 10, "heartbeat_timeout_ms": 20}
    options = {"seed": 35, "depth": 5, "parallelism": 1, "sharing_depth": 1, "on_lost": "continue", "standby": 0}
    members = failing("map-1.0@86+map-2.0@86", **options, **suspected)
    events = [json.loads(line) for line in members.members["events.ndjson"].splitlines()]
    assert any(one["type"] == "escalated" for one in events)
    failed = [one for one in events if one["type"] == "task-failed" and one["task"] == "map-2.0"]
    assert [(one["attempt"], one["cause"]) for one in failed] == [(0, "killed"), (1, "suspected")]
    replaced = [one for one in events if one["type"] == "task-rescheduled" and one["task"] == "map-2.0"]
    began = [one for one in events if one["type"] == "attempt-started" and one["task"] == "map-2.0"]
    assert [one["failure"] for one in replaced] == [one["failure"] for one in began if one["attempt"]]
    assert began[-1]["diverged"] and began[-1]["host"] == replaced[-1]["host"]
    assert replay(bundle_of(members), failure=failed[-1]["failure"]).verdict == "free"
