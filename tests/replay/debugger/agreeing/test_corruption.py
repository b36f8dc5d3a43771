"""One flipped bit, anywhere in what a recovery touches, is a divergence that names where; and never `identical`."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from replay.bundle.frames import BUFFER_HEAD_BYTES, BufferFrame, read_buffers
from replay.debugger.outcome import Outcome
from replay.debugger.replay import replay
from replay.errors import ReplayError
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

pytestmark = pytest.mark.slow

TASK = "map-1.0"
SEED = 20261118


def flipped(members: MemoryMembers, name: str, bit: int) -> MemoryMembers:
    data = bytearray(members.members[name])
    data[bit // 8] ^= 1 << (bit % 8)
    return members.with_(name, bytes(data))


def outcome_of(members: MemoryMembers) -> Outcome:
    return replay(bundle_of(members), failure=0)


def touched(members: MemoryMembers, suffix: str) -> list[str]:
    """The failed task's members, and the upstream ones that it reads."""
    graph = bundle_of(members).graph
    folders = [f"tasks/{TASK}/"]
    for channel in map(graph.channel, graph.task(TASK).inputs):
        folders += [f"tasks/{channel.source}/{attempt}/sent-{channel.k}/" for attempt in range(3)]
    return [n for n, data in members.members.items() if data and n.endswith(suffix) and n.startswith(tuple(folders))]


def frame_at(data: bytes, byte: int) -> tuple[int, BufferFrame]:
    return [(offset, frame) for offset, frame in read_buffers(data, epoch=0) if offset <= byte][-1]


def only_a_time_that_nothing_confirms(members: MemoryMembers, name: str, bit: int) -> bool:
    """A rebuilt buffer was sent at no time of its own: the low bits of when it was rebuilt stand nowhere else."""
    offset, frame = frame_at(members.members[name], bit // 8)
    place = bit // 8 - offset
    in_time = 8 <= place < 16
    in_empty_epoch = 17 <= place < 25 and frame.main_offset == 0
    return (frame.held_back and in_time) or in_empty_epoch


def test_the_recording_as_it_is_replays_identically() -> None:
    outcome = outcome_of(one_failure())
    assert (outcome.verdict, outcome.task, outcome.attempt, outcome.failure) == ("identical", TASK, 1, 0)
    assert outcome.detail["buffers"] > 10 and outcome.detail["log_bytes"] > 500


@pytest.mark.parametrize("name", touched(one_failure(), ".buf"))
def test_a_flipped_bit_in_a_buffer_names_it(name: str) -> None:
    members = one_failure()
    rng = random.Random(f"{SEED} {name}")
    data = members.members[name]
    heads = [offset for offset, _ in read_buffers(data, epoch=0)]
    bits = [rng.randrange(8 * len(data)) for _ in range(12)]
    bits += [8 * rng.choice(heads) + rng.randrange(8 * BUFFER_HEAD_BYTES) for _ in range(12)]
    for bit in bits:
        outcome = outcome_of(flipped(members, name, bit))
        where = f"bit {bit} of {name}, seed {SEED}: {outcome.sentence}"
        if outcome.verdict == "identical":
            assert only_a_time_that_nothing_confirms(members, name, bit), where
            continue
        assert (outcome.verdict, outcome.exit_status) == ("diverged", 3), where
        assert name in outcome.sentence or only_a_time_that_nothing_confirms(members, name, bit), where
        assert "buffer" in outcome.sentence, where


@pytest.mark.parametrize("name", touched(one_failure(), ".buf"))
def test_the_named_buffer_is_the_one_whose_payload_was_damaged(name: str) -> None:
    members = one_failure()
    rng = random.Random(f"payload {SEED} {name}")
    frames = list(read_buffers(members.members[name], epoch=0))
    for offset, frame in rng.sample(frames, min(6, len(frames))):
        byte = offset + BUFFER_HEAD_BYTES + rng.randrange(len(frame.payload))
        outcome = outcome_of(flipped(members, name, 8 * byte + rng.randrange(8)))
        where = f"byte {byte} of {name}, seed {SEED}: {outcome.sentence}"
        assert outcome.verdict == "diverged", where
        assert outcome.detail["member"] == name, where
        if not frame.is_event:
            # A damaged record may show only where its end should be: one buffer later.
            assert outcome.detail["buffer"] in (frame.seq, frame.seq + 1), where


@pytest.mark.parametrize("suffix", [".det", ".dlt"])
def test_a_flipped_bit_in_a_log_or_a_delta_is_a_divergence(suffix: str) -> None:
    members = one_failure()
    rng = random.Random(f"{SEED} {suffix}")
    names = [n for n in touched(members, suffix) if n.startswith(f"tasks/{TASK}/")]
    for _ in range(60):
        name = rng.choice(names)
        bit = rng.randrange(8 * len(members.members[name]))
        outcome = outcome_of(flipped(members, name, bit))
        assert outcome.verdict == "diverged", f"bit {bit} of {name}, seed {SEED}: {outcome.sentence}"


@pytest.mark.parametrize("suffix", [".buf", ".dlt", ".det", ".rcv", ".ndjson", ".json"])
def test_nothing_damaged_anywhere_raises(suffix: str) -> None:
    """Cut, doubled or scrambled members anywhere in the bundle lead to a verdict and a sentence."""
    members = one_failure()
    rng = random.Random(f"anywhere {SEED} {suffix}")
    names = [n for n, d in members.members.items() if d and n.endswith(suffix) and n != "job.json"]
    for _ in range(25):
        name = rng.choice(names)
        data = members.members[name]
        at = rng.randrange(len(data))
        damaged = rng.choice((data[:at], data + data[:at], data[:at] + rng.randbytes(8) + data[at + 8 :]))
        outcome = outcome_of(members.with_(name, damaged))
        assert outcome.verdict in ("diverged", "unknown", "identical"), outcome.sentence
        assert outcome.sentence.endswith("."), f"{name} at {at}, seed {SEED}: {outcome.sentence}"


WRONG = (None, -1, 1 << 70, "x", "", [], {}, True, 1.5, "map-1.0", ["map-1.0", "main", 1, "x"])


@pytest.mark.parametrize("round_", range(8))
@pytest.mark.parametrize("suffix", ["events.ndjson", "state/1.json", "source/1.ndjson", "sink/1.ndjson"])
def test_json_of_the_wrong_kind_leads_to_a_verdict_or_a_sentence(suffix: str, round_: int) -> None:
    members = one_failure()
    rng = random.Random(f"json {SEED} {suffix} {round_}")
    for _ in range(6):
        name = rng.choice([n for n in members.members if n.endswith(suffix)])
        lines = [json.loads(line) for line in members.members[name].splitlines()]
        changed = rng.randrange(len(lines))
        _spoil(rng, lines[changed])
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        where = f"{name} line {changed}: {lines[changed]}, seed {SEED}"
        try:
            outcome = outcome_of(members.with_(name, data))
        except ReplayError as fault:
            assert str(fault).endswith("."), where
            continue
        assert outcome.sentence.endswith("."), where


def _spoil(rng: random.Random, value: Any) -> None:
    """Something inside becomes something else, or goes away."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.7:
            value = value[key]
            continue
        if rng.random() < 0.2:
            del value[key]
        else:
            value[key] = rng.choice(WRONG)
        return


def test_an_event_that_is_removed_is_named() -> None:
    members = one_failure()
    lines = members.members["events.ndjson"].splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"determinants-received"' in line)
    outcome = outcome_of(members.with_("events.ndjson", b"".join(lines[:at] + lines[at + 1 :])))
    assert outcome.verdict == "diverged"
    assert "events.ndjson" in outcome.sentence and f"n must be {at}" in outcome.sentence
