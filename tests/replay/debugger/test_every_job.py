"""Every sample job with two failures, under every protocol, sink, layout and spill policy: replays tell the truth."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Any

import pytest

from replay.bundle.frames import BUFFER_HEAD_BYTES, read_buffers
from replay.causality.life import ORPHAN
from replay.debugger.outcome import Outcome
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.jobs.catalogue import JOBS
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.replay.debugger.worlds import MemoryMembers, alone, bundle_of

SEED = 20261118
WINDOWS: dict[str, dict[str, int]] = {
    "windowed": {"window_ms": 100, "slide_ms": 50},
    "nexmark-q5": {"window_ms": 60, "slide_ms": 30},
    "nexmark-q7": {"window_ms": 60},
    "nexmark-q8": {"window_ms": 60},
    "nexmark-q11": {"window_ms": 20},
    "nexmark-q12": {"window_ms": 60},
}
SETTINGS: tuple[dict[str, Any], ...] = (
    {"sink": "transactional", "delta_layout": "grouping", "spill": "oldest", "in_flight_pool": 40},
    {"sink": "idempotent", "spill": "eager", "standby": 0},
    {"sink": "determinant", "delta_layout": "grouping", "sharing_depth": 1, "standby": 2},
    {"sink": "plain", "spill": "availability", "in_flight_pool": 40, "sharing_depth": 2},
    {"sink": "determinant", "spill": "memory"},
    {"protocol": "pessimistic", "sink": "transactional"},
    {"protocol": "optimistic", "sink": "idempotent"},
    {"protocol": "none"},
    {"protocol": "coordinated", "sink": "transactional"},
    {"sharing_depth": 0},
)
TOGETHER = 3
"""How many of the settings each job is recorded with; neighbours in the list of jobs get others."""
RECORDINGS = [(job, n) for n in range(TOGETHER) for job in range(len(JOBS))]


def setting_of(job: int, n: int) -> dict[str, Any]:
    return SETTINGS[(TOGETHER * job + n) % len(SETTINGS)]


@lru_cache(maxsize=64)
def recorded(job: int, n: int) -> tuple[str, MemoryMembers]:
    """The command that records the same, and the bundle: two tasks are killed, now and then in one blow."""
    rng = Random(f"{SEED} {job} {n}")
    name = list(JOBS)[job]
    options: dict[str, Any] = {
        "seed": rng.randrange(1000),
        "events": 250,
        "checkpoint_interval_ms": 40,
        "buffer_bytes": 512,
    }
    options |= WINDOWS.get(name, {}) | setting_of(job, n)
    tasks = [one.id for one in run_of(RecordOptions(job=name, **options), PROTOCOLS).manifest.tasks]
    first, second = rng.sample(tasks, 2)
    at_ms = rng.randrange(60, 90)
    both = (f"{first}@{at_ms}+{second}@{at_ms}",)
    chosen = RecordOptions(
        job=name, kills=rng.choice([both, (f"{first}@{at_ms}", f"{second}@{at_ms + rng.randrange(50)}")]), **options
    )
    run = run_of(chosen, PROTOCOLS)
    members = EngineMembers()
    Engine(run, members).run()
    files = {path: bytes(data) for path, data in members.members.items()}
    return chosen.command(), MemoryMembers({**files, "job.json": run.manifest.to_bytes()})


def expected(story: Story, outcome: Outcome) -> str:
    """What the recording allows to be said."""
    return "identical" if any(story.returned_to(outcome.task, outcome.attempt or 0).values()) else "free"


@pytest.mark.parametrize(("job", "n"), RECORDINGS)
def test_what_was_recorded_replays_as_it_was(job: int, n: int) -> None:
    command, members = recorded(job, n)
    bundle = bundle_of(members)
    story = Story.read(bundle.events())
    assert sum(not str(one["cause"]).startswith(ORPHAN) for one in story.failures.values()) == 2, command
    for failure in story.failures:
        outcome = alone(bundle, failure)
        where = f"{command}, failure {failure}: {outcome.verdict}: {outcome.sentence}"
        if "escalated" in outcome.sentence or "rolled back" in outcome.sentence:
            assert outcome.verdict == "free", where
        else:
            assert outcome.verdict == expected(story, outcome), where
        assert outcome.sentence.endswith("."), where


@pytest.mark.parametrize(("job", "n"), RECORDINGS)
def test_an_attempt_replays_from_its_own_log_where_there_is_one(job: int, n: int) -> None:
    command, members = recorded(job, n)
    bundle = bundle_of(members)
    attempts = [(task, attempt) for task in bundle.tasks() for attempt in bundle.attempts(task)]
    for task, attempt in Random(f"attempt {SEED} {job} {n}").sample(attempts, 2):
        outcome = replay(bundle, task=task, attempt=attempt)
        has_log = any(one.endswith(".det") for one in members.names(f"tasks/{task}/{attempt}/"))
        where = f"{command}, {task} attempt {attempt}: {outcome.verdict}: {outcome.sentence}"
        assert outcome.verdict == ("identical" if has_log else "unknown"), where
        if not bundle.manifest.protocol.logs:
            assert "nothing" in outcome.sentence, where


def test_every_setting_is_met_and_most_verdicts_too() -> None:
    """So that the tests above can't pass by recording too little."""
    met = [setting_of(job, n) for job, n in RECORDINGS]
    assert all(one in met for one in SETTINGS)
    verdicts = {replay(bundle_of(recorded(job, n)[1]), failure=0).verdict for job, n in RECORDINGS[: len(JOBS)]}
    assert verdicts == {"identical", "free"}


@pytest.mark.parametrize("job", range(len(JOBS)))
def test_a_flipped_bit_in_what_a_recovery_touches_is_never_called_identical(job: int) -> None:
    rng = Random(f"flip {SEED} {job}")
    for n in range(TOGETHER):
        command, members = recorded(job, n)
        for failure in Story.read(bundle_of(members).events()).failures:
            whole = alone(bundle_of(members), failure)
            if whole.verdict != "identical":
                continue
            name, bit = a_bit_of_a_payload(rng, members, touched(members, whole.task))
            outcome = alone(bundle_of(flipped(members, name, bit)), failure)
            where = f"{command}, failure {failure}, bit {bit} of {name}: {outcome.verdict}: {outcome.sentence}"
            assert outcome.verdict in ("diverged", "unknown"), where
            if outcome.verdict == "diverged":
                assert "buffer" in outcome.sentence, where


def touched(members: MemoryMembers, task: str) -> list[str]:
    """The buffers that the task cut, and those that its upstream tasks sent to it."""
    graph = bundle_of(members).graph
    above = [graph.channel(channel) for channel in graph.task(task).inputs]
    folders = tuple(f"tasks/{one.source}/{a}/sent-{one.k}/" for one in above for a in range(3))
    found = [one for one in members.names("tasks/") if one.endswith(".buf") and members.size(one)]
    return [one for one in found if one.startswith((f"tasks/{task}/", *folders))]


def a_bit_of_a_payload(rng: Random, members: MemoryMembers, names: list[str]) -> tuple[str, int]:
    name = rng.choice(names)
    offset, frame = rng.choice(list(read_buffers(members.read(name), epoch=0)))
    return name, 8 * (offset + BUFFER_HEAD_BYTES) + rng.randrange(8 * len(frame.payload))


def flipped(members: MemoryMembers, name: str, bit: int) -> MemoryMembers:
    data = bytearray(members.read(name))
    data[bit // 8] ^= 1 << (bit % 8)
    return members.with_(name, bytes(data))
