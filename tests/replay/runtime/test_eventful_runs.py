"""Whole runs with every kind of choice and with failures: recoveries repeat them, and replays are identical."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from random import Random

import pytest

from replay.bundle.frames import read_sendings
from replay.bundle.reader import Bundle
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.log.codec import decode_all
from replay.model import TaskId
from replay.runtime.engine import Engine
from replay.runtime.failing.kills import Blow, Kill
from replay.runtime.recorder import MemoryMembers
from tests.replay.debugger.worlds import Kept
from tests.replay.debugger.worlds import MemoryMembers as Recorded
from tests.replay.runtime import eventful

SEEDS = range(10)
SERVICES = (
    {"time": "periodic:2", "random": "seed"},
    {"time": "call", "random": "call"},
    {"time": "periodic:5", "random": "call"},
    {},
)


@lru_cache(maxsize=16)
def ran(seed: int) -> tuple[Engine, Recorded]:
    engine, members = drawn(seed)
    return engine, eventful.recording_of(engine, members)


def drawn(seed: int) -> tuple[Engine, MemoryMembers]:
    draw = Random(f"eventful {seed}")
    manifest = eventful.manifest(
        services=draw.choice(SERVICES),
        ships=[draw.choice(("hash", "rebalance", "random", "broadcast", "forward")) for _ in range(3)],
        watermarks=draw.choice((eventful.WATERMARKS, {"every_records": 3}, {"every_ms": 7, "idle_after_ms": 3})),
        source_options=draw.choice(({}, {"time": "ingestion"})),
        interval_ms=draw.choice((15, 40)),
        buffer_bytes=draw.choice((60, 400)),
    )
    tasks = [task.id for task in manifest.tasks]
    blows = [
        Blow(tuple(Kill(task, round(draw.uniform(2, 60), 3)) for task in draw.sample(tasks, draw.choice((1, 1, 2)))))
        for _ in range(draw.choice((1, 2)))
    ]
    return eventful.engine_of(manifest, seed=seed, blows=blows, records=60)


def struck_in_a_checkpoint() -> Iterator[Engine]:
    """A source that fails between its trigger and the completion: whether anyone holds the trigger is chance."""
    manifest = eventful.manifest(services={"time": "call"}, interval_ms=15)
    for seed in range(3):
        for at_ms in (18, 19, 26, 28):
            blow = Blow((Kill(TaskId("source.0"), at_ms),))
            yield eventful.engine_of(manifest, seed=seed, blows=[blow])[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_recoveries_of_tasks_with_every_kind_of_choice_replay_identically(seed: int) -> None:
    _, members = ran(seed)
    bundle = Bundle(members)
    story = Story.read(bundle.events())
    with eventful.registered():
        for failure in sorted(story.failures):
            kept = Kept()
            task = str(story.failures[failure]["task"])
            outcome = replay(bundle, task=task, failure=failure, sink=kept)
            assert outcome.verdict in ("identical", "free"), f"seed {seed}, failure {failure}: {outcome.sentence}"
            returned = any(story.returned_to(outcome.task, outcome.attempt or 0).values())
            began = story.began_to_replay(TaskId(outcome.task), outcome.attempt or 0)
            assert (outcome.verdict == "identical") == (returned and bool(began)), f"seed {seed}, failure {failure}"


@pytest.mark.parametrize("seed", range(24, 27))
def test_every_attempt_replays_identically_from_its_own_log(seed: int) -> None:
    _, members = ran(seed)
    bundle = Bundle(members)
    with eventful.registered():
        for task in bundle.tasks():
            for attempt in bundle.attempts(task):
                outcome = replay(bundle, task=task, attempt=attempt)
                assert outcome.verdict in ("identical", "unknown"), f"seed {seed}: {outcome.sentence}"
                if any(name.endswith(".det") for name in members.names(f"tasks/{task}/{attempt}/")):
                    assert outcome.verdict == "identical", f"seed {seed}: {outcome.sentence}"


def test_a_recovery_takes_every_kind_of_choice_from_the_log() -> None:
    """The runs above would prove nothing if what is recovered did not hold these."""
    kinds: set[str] = set()
    engines = [ran(seed)[0] for seed in SEEDS]
    for engine in struck_in_a_checkpoint():
        engine.run()
        engines.append(engine)
    for engine in engines:
        for _, _, logs in engine.totals.returned:
            for copy in logs:
                kinds |= {getattr(one, "callback", one.kind) for _, _, one in decode_all(copy.data)}
    assert kinds >= {
        "order",
        "timestamp",
        "rng",
        "serializable",
        "buffer-built",
        "internal:soon",
        "internal:time",
        "periodic-watermark-extractor",
        "watermark",
        "idle",
    }


def test_the_sendings_of_a_buffer_are_numbered_from_0_on() -> None:
    """Few buffers an epoch: what a completed checkpoint covers is forgotten, and nothing that has its number."""
    again = 0
    for seed in range(6):
        manifest = eventful.manifest(buffer_bytes=8000, watermarks={"every_ms": 9}, interval_ms=12)
        blows = [Blow((Kill(TaskId(f"{name}.0"), 30.0 + seed + after),)) for name, after in (("two", 0), ("sink", 20))]
        slow = replace(eventful.COSTS, flush_us=6_000)
        members = eventful.recording_of(*eventful.engine_of(manifest, seed=seed, blows=blows, costs=slow, records=80))
        counts: dict[tuple[str, int], int] = {}
        for name in members.names("tasks/"):
            for _, frame in read_sendings(members.members[name]) if name.endswith(".dlt") else ():
                output = name.rpartition("/")[0]
                expected = counts.get((output, frame.seq), 0)
                assert frame.sending == expected, f"seed {seed}: {name}, buffer {frame.seq}"
                counts[output, frame.seq] = expected + 1
        again += sum(count > 1 for count in counts.values())
    assert again > 20
