"""Sinks deliver what they promise, whatever fails: judged by what the world outside holds, from members alone."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from replay.bundle.frames import read_sendings
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.log.deltas import LogIds, decode_message
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine, Run
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.replay.debugger.worlds import MemoryMembers, bundle_of
from tests.replay.runtime.outside import _SINK as SINK
from tests.replay.runtime.outside import delivered, events_of, faults, lines_of, outside, read

EXACT = ("transactional", "idempotent", "determinant")
SEEDS = range(8)
Files = dict[str, bytes]


def recorded(**options: Any) -> Files:
    run = run_of(RecordOptions(**options), PROTOCOLS)
    return files_of(run)


def files_of(run: Run) -> Files:
    members = EngineMembers()
    Engine(run, members).run()
    files = {name: bytes(data) for name, data in members.members.items()}
    return {**files, "job.json": run.manifest.to_bytes()}


def tasks(parallelism: int, depth: int) -> list[str]:
    vertices = ["source", *(f"map-{i}" for i in range(1, depth - 1)), "sink"]
    return [f"{vertex}.{i}" for vertex in vertices for i in range(parallelism)]


@cache
def random_run(seed: int, sink: str, sharing_depth: int | None = None) -> tuple[RecordOptions, Files]:
    """Blows to all tasks at once, to sinks, and to whoever it hits; the seed and the kind of sink say it all."""
    draw = Random(f"sinks {seed} {sink}")
    parallelism, depth = draw.choice((1, 2)), draw.choice((2, 3, 4))
    names = tasks(parallelism, depth)
    blows = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        at_ms, how = draw.randint(5, 250), draw.random()
        struck = draw.sample(names, draw.randint(1, len(names)))
        if how < 0.6:
            struck = names if how < 0.3 else [draw.choice([one for one in names if one.startswith("sink")])]
        blows.append("+".join(f"{one}@{at_ms + draw.choice((0, 0, 1, 7))}" for one in struck))
    options = RecordOptions(
        seed=seed,
        events=draw.choice((40, 150, 400)),
        parallelism=parallelism,
        depth=depth,
        sink=sink,
        sharing_depth=sharing_depth,
        standby=draw.choice((0, 1)),
        checkpoint_interval_ms=draw.choice((20, 60, 150)),
        buffer_bytes=draw.choice((64, 200, 1000)),
        kills=tuple(blows),
    )
    fields = {name: getattr(options, name) for name in ("seed", "events", "parallelism", "depth", "sink", "standby")}
    fields |= {name: getattr(options, name) for name in ("sharing_depth", "checkpoint_interval_ms", "buffer_bytes")}
    return options, recorded(kills=options.kills, **fields)


def failed_sinks(files: Files) -> bool:
    return any(one["task"].startswith("sink.") for one in events_of(files, "task-failed"))


@pytest.mark.parametrize("sink", EXACT)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_record_is_delivered_exactly_once(seed: int, sink: str) -> None:
    options, files = random_run(seed, sink)
    assert faults(files) == [], options.command()
    assert not events_of(files, "global-rollback")
    found = delivered(files)
    assert {source: count for source, count in found.items() if count != 1} == {}, options.command()
    assert set(found) == read(files), options.command()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plain_sink_writes_twice_only_what_it_wrote_before_it_failed(seed: int) -> None:
    options, files = random_run(seed, "plain")
    assert faults(files) == []
    found = delivered(files)
    assert set(found) == read(files), options.command()
    twice = {source for source, count in found.items() if count > 1}
    assert not twice or failed_sinks(files), options.command()
    # Never twice by one attempt.
    writers = {}
    for task, attempt, _, line in lines_of(files, SINK):
        key = task, attempt, str(line["source"])
        assert writers.setdefault(key, line) is line, options.command()


def test_plain_sinks_do_write_twice() -> None:
    runs = [random_run(seed, "plain")[1] for seed in SEEDS]
    assert any(max(delivered(files).values()) > 1 for files in runs), "else the others prove nothing"


@pytest.mark.parametrize("sink", ("plain", *EXACT))
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_at_depth_zero_nothing_is_lost(seed: int, sink: str) -> None:
    if sink == "determinant":  # `record` refuses it, as it changes nothing: which shows here
        options, _ = random_run(seed, "plain", 0)
        run = run_of(options, PROTOCOLS)
        keeps = replace(run.manifest.protocol, sink=sink)
        files = files_of(replace(run, manifest=replace(run.manifest, protocol=keeps)))
    else:
        options, files = random_run(seed, sink, 0)
    assert faults(files) == [], options.command()
    assert set(delivered(files)) == read(files), options.command()


@pytest.mark.parametrize("sink", ("plain", "transactional", "idempotent"))
def test_a_rollback_takes_back_what_is_not_final(sink: str) -> None:
    rolled_back = 0
    for seed in range(2):
        files = recorded(
            seed=seed,
            events=400,
            depth=4,
            sink=sink,
            sharing_depth=1,
            checkpoint_interval_ms=60,
            kills=("map-1.0@150+map-2.0@150+map-2.1@150",),
        )
        rolled_back += bool(events_of(files, "global-rollback"))
        assert faults(files) == []
        found = delivered(files)
        assert set(found) == read(files), f"seed {seed}"
        if sink != "plain":
            assert max(found.values()) == 1, f"seed {seed}"
    assert rolled_back


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.parametrize("sink", ("plain", *EXACT))
def test_a_failure_is_replayed_with_a_right_verdict(seed: int, sink: str) -> None:
    options, files = random_run(seed, sink)
    source = bundle_of(MemoryMembers(files))
    for failure in events_of(files, "task-failed"):
        outcome = replay(source, failure=failure["failure"])
        ended = outcome.verdict == "unknown" and "before its determinants were back" in outcome.sentence
        assert outcome.verdict in ("identical", "free") or ended, f"{outcome.sentence} {options.command()}"


def test_what_a_sink_held_back_is_compared_with_what_the_world_has() -> None:
    files = recorded(
        seed=3, events=400, depth=3, sink="determinant", checkpoint_interval_ms=1000, kills=("sink.0@190",)
    )
    first = [line for _, attempt, epoch, line in lines_of(files, SINK) if (attempt, epoch) == (0, 0)]
    name = "tasks/sink.0/0/sink/0.ndjson"
    assert replay(bundle_of(MemoryMembers(files)), failure=0).verdict == "identical"
    value = json.dumps(first[0]["record"][2], separators=(",", ":"))
    damaged = files[name].replace(value.encode(), value.replace('"amount":', '"amount":1').encode(), 1)
    assert damaged != files[name]
    outcome = replay(bundle_of(MemoryMembers({**files, name: damaged})), failure=0)
    assert outcome.verdict == "diverged"
    assert "as the outside world accepted it" in outcome.sentence


def test_a_write_ahead_log_that_differs_is_a_divergence() -> None:
    files = recorded(seed=3, events=300, depth=3, sink="idempotent", checkpoint_interval_ms=50)
    name = next(one for one in sorted(files) if one.startswith("tasks/sink.0/0/state/") and b'"writes"' in files[one])
    damaged = files[name].replace(b'"amount":', b'"amount":1', 1)
    source = bundle_of(MemoryMembers({**files, name: damaged}))
    outcome = replay(source, task="sink.0", attempt=0)
    assert outcome.verdict == "diverged"
    assert "transactions" in outcome.sentence


def test_a_flush_that_a_failure_cut_begins_again_with_the_same_ids() -> None:
    """Flushing takes time, so some kill hits its middle; repeats are written, and count once."""
    repeated = 0
    for at_ms in range(60, 70, 2):
        files = recorded(
            seed=1, events=600, depth=2, sink="idempotent", checkpoint_interval_ms=50, kills=(f"sink.0@{at_ms}",)
        )
        ids = [line["id"] for _, _, _, line in lines_of(files, SINK)]
        repeated += len(ids) > len(set(ids))
        assert faults(files) == []
        assert len(outside(files)) == 600
    assert repeated


def test_a_commit_that_nobody_was_told_of_is_done_by_the_next_attempt() -> None:
    """Killed between completion and notice: the new attempt finds the transaction in its snapshot."""
    job: dict[str, Any] = {"seed": 2, "events": 400, "depth": 2, "sink": "transactional", "checkpoint_interval_ms": 50}
    undisturbed = recorded(**job, kills=("sink.0@400",))  # as many kills, so that chance is the same until then
    completed = next(one for one in events_of(undisturbed, "checkpoint-completed"))
    files = recorded(**job, kills=(f"sink.0@{completed['t_us'] / 1000 + 0.05}",))
    committed = [one for one in events_of(files, "epoch-committed") if one["task"] == "sink.0"]
    assert (committed[0]["epoch"], committed[0]["attempt"]) == (0, 1)
    assert committed[0]["txn"] in {line["txn"] for _, attempt, _, line in lines_of(files, SINK) if attempt == 0}
    assert faults(files) == []
    assert len(outside(files)) == 400


def test_a_write_carries_the_choices_that_it_depends_on() -> None:
    """As real deltas: the frame of every line, and all logs above the sink by the end."""
    files = recorded(seed=5, events=200, depth=3, sink="determinant", checkpoint_interval_ms=1000)
    ids = LogIds.of(bundle_of(MemoryMembers(files)).manifest)
    logs: set[str] = set()
    for task in ("sink.0", "sink.1"):
        lines = [line["n"] for who, _, _, line in lines_of(files, SINK) if who == task]
        frames = [frame for _, frame in read_sendings(files[f"tasks/{task}/0/world/0.dlt"])]
        assert [frame.seq for frame in frames] == lines[: len(frames)]
        assert {(frame.receiver_attempt, frame.sending) for frame in frames} == {(0, 0)}
        logs |= {str(entry.log) for frame in frames for entry in decode_message(frame.delta, ids)}
    two_above = {f"source.{i}/out-{k}" for i in (0, 1) for k in (0, 1)}
    assert logs >= two_above | {"sink.0/main", "sink.1/main", "map-1.0/main", "map-1.1/main"}


def test_a_determinant_keeping_world_is_as_fast_as_a_plain_sink() -> None:
    """In virtual time, without failures: the same latency; transactions wait for their checkpoint."""
    latency = {}
    for sink in ("plain", "determinant", "transactional", "idempotent"):
        files = recorded(seed=9, events=5000, depth=3, sink=sink, checkpoint_interval_ms=400)
        p50 = [one["latency_p50_us"] for one in events_of(files, "metric") if "latency_p50_us" in one]
        latency[sink] = sum(p50) / len(p50)
    assert latency["determinant"] < 1.2 * latency["plain"]
    assert latency["transactional"] > 3 * latency["plain"]
    assert latency["idempotent"] > 3 * latency["plain"]
