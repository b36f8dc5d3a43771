"""What is changed or taken out at every place that tells of it, so that the copies still agree with one another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from replay.bundle.frames import BUFFER_HEAD_BYTES, read_buffers, read_receipts, read_sendings
from replay.bundle.members import member_name
from replay.debugger.outcome import Outcome
from replay.debugger.recorded.members import barrier_of
from replay.debugger.replay import replay
from replay.log.codec import decode_all, encode
from replay.log.determinants import Timestamp
from tests.replay.debugger.recordings import failing, one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

EVENTS = "events.ndjson"
Line = dict[str, Any]


def lines_of(members: MemoryMembers, name: str) -> list[Line]:
    return [json.loads(line) for line in members.members[name].splitlines()]


def with_lines(members: MemoryMembers, name: str, lines: list[Line]) -> MemoryMembers:
    data = (json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for one in lines)
    return members.with_(name, b"".join(data))


def diverged(members: MemoryMembers, *named: str) -> Outcome:
    outcome = replay(bundle_of(members), failure=0)
    assert outcome.verdict == "diverged", outcome.sentence
    assert all(one in outcome.sentence for one in named), outcome.sentence
    return outcome


SINKS = ("plain", "transactional", "determinant")


@pytest.mark.parametrize("sink", SINKS)
def test_a_last_write_that_is_gone_is_missed_where_its_task_went_on(sink: str) -> None:
    """Nothing is numbered behind it. What seals a transaction would count it, so that is changed with it."""
    members = one_failure(sink=sink)
    name = max((one for one in members.members if one.startswith("tasks/sink.0/0/sink/")), key=len_then_name)
    lines = lines_of(members, name)
    gone = lines[-1]
    changed = without_sealed(with_lines(members, name, lines[:-1]), gone)
    diverged(changed, name)


@pytest.mark.parametrize("sink", SINKS)
def test_a_write_that_nobody_made_is_named_though_it_has_the_next_number(sink: str) -> None:
    members = one_failure(sink=sink)
    name = max((one for one in members.members if one.startswith("tasks/sink.0/0/sink/")), key=len_then_name)
    lines = lines_of(members, name)
    more = {**lines[-1], "n": lines[-1]["n"] + 1}
    outcome = diverged(with_lines(members, name, [*lines, more]))
    assert name in json.dumps(outcome.detail)


def test_a_recovery_asks_for_its_log_from_the_checkpoint_on_that_it_began_from() -> None:
    """Also where it failed before anybody got the request, so that no other event tells of that epoch."""
    members = one_failure()
    lines = lines_of(members, EVENTS)
    start = next(one for one in lines if one["type"] == "attempt-started" and one["attempt"] == 1)
    asked = ("determinants-requested", "determinants-request-received")
    changed = [{**one, "epoch": one["epoch"] + 1} if one["type"] in asked else one for one in lines]
    assert changed != lines
    named = f"event {start['n']} says that attempt 1 of {start['task']} began from checkpoint {start['checkpoint']}"
    diverged(with_lines(members, EVENTS, changed), "determinants-requested asks for determinants", named)


def len_then_name(name: str) -> tuple[int, str]:
    return len(name), name


def without_sealed(members: MemoryMembers, gone: Mapping[str, Any]) -> MemoryMembers:
    if gone.get("txn") is None:
        return members
    events = lines_of(members, EVENTS)
    for event in events:
        if event.get("txn") == gone["txn"] and "records" in event:
            event["records"] -= 1
    return with_lines(members, EVENTS, events)


def numbered_anew(events: list[Line], gone: int) -> list[Line]:
    kept = []
    for event in events:
        if event["n"] != gone:
            moved = {k: event[k] - (event[k] > gone) for k in ("n", "re", "rollback") if isinstance(event.get(k), int)}
            kept.append({**event, **moved})
    return kept


def test_a_request_that_is_gone_is_missed_where_its_channel_was_sent_on_after_it() -> None:
    """Also at a task that was running, which nothing else shows: nothing of its in-flight log had to be sent."""
    members = failing("source.0@30", checkpoint_interval_ms=400)
    events = lines_of(members, EVENTS)
    asked = [one for one in events if one["type"] == "replay-request-received" and one["at"] == "source.0"]
    assert asked
    for one in asked:
        changed = with_lines(members, EVENTS, numbered_anew(events, one["n"]))
        outcome = replay(bundle_of(changed), failure=0)
        assert outcome.verdict == "diverged", f"{one}: {outcome.sentence}"


@pytest.mark.parametrize("protocol", ["none", "coordinated", "clonos"])
def test_a_barrier_that_is_gone_on_its_whole_way_is_missed(protocol: str) -> None:
    """The last one of its channel: no number shows it."""
    options: dict[str, Any] = {"sharing_depth": 0} if protocol == "clonos" else {}
    members = one_failure(protocol=protocol, **options)
    bundle = bundle_of(members)
    task = bundle.graph.task("source.0").id
    channel = bundle.graph.channel(bundle.graph.task(task).outputs[0].channel)
    attempt = max(bundle.attempts(task))
    name, offset, frame = [
        (name, offset, frame)
        for epoch in bundle.epochs(task, attempt, "sent-0")
        if (name := member_name(task, attempt, "sent-0", epoch, "buf")) in members.members
        for offset, frame in read_buffers(members.members[name], epoch=epoch)
        if barrier_of(frame) is not None
    ][-1]
    data = members.members[name]
    changed = members.with_(name, data[:offset] + data[offset + BUFFER_HEAD_BYTES + len(frame.payload) :])
    sent = name.removesuffix(".buf") + ".dlt"
    kept = [one for _, one in read_sendings(members.members[sent]) if one.seq != frame.seq]
    changed = changed.with_(sent, b"".join(one.to_bytes() for one in kept))
    for received in [one for one in members.members if one.startswith(f"tasks/{channel.target}/") and ".rcv" in one]:
        if f"/received-{channel.i}/" in received:
            there = [one for _, one in read_receipts(members.members[received])]
            left = [one for one in there if (one.seq, one.sender_attempt) != (frame.seq, attempt)]
            changed = changed.with_(received, b"".join(one.to_bytes() for one in left))
    diverged(changed, str(barrier_of(frame)), "barrier")


@pytest.mark.parametrize(
    "options", [{"protocol": "none"}, {"sharing_depth": 0}, {"on_lost": "continue", "sharing_depth": 1}]
)
def test_the_next_buffer_of_a_snapshot_is_held_against_its_barrier(options: dict[str, Any]) -> None:
    members = one_failure(**options)
    name = next(one for one in sorted(members.members) if one.startswith("tasks/map-2.1/0/state/"))
    state = json.loads(members.members[name])
    channel = sorted(state["outputs"])[0]
    state["outputs"][channel] += 1
    changed = members.with_(name, json.dumps(state, separators=(",", ":")).encode())
    diverged(changed, name, channel)


def readings(members: MemoryMembers) -> Iterator[tuple[str, int, int, Timestamp]]:
    """Of the attempt that failed, in the order in which it made them."""
    for name in sorted(one for one in members.members if one.startswith("tasks/map-1.0/0/main/")):
        for offset, length, one in decode_all(members.members[name]):
            if isinstance(one, Timestamp):
                yield name, offset, length, one


@pytest.mark.parametrize("by_ms", [400, -400])
def test_a_clock_that_can_not_have_read_so_is_named_though_nothing_was_made_of_it(by_ms: int) -> None:
    """The last reading of an attempt that failed: nobody was told of it, so that the next one has another."""
    for at_ms in range(70, 200, 10):
        members = one_failure(at_ms=at_ms, buffer_bytes=1 << 14, flush_ms=500.0)
        name, offset, length, one = list(readings(members))[-1]
        data = members.members[name]
        again = members.members.get(name.replace("/0/", "/1/", 1), b"")
        if again[offset : offset + length] != data[offset : offset + length]:
            break
    made = data[:offset] + encode(Timestamp(one.value + by_ms)) + data[offset + length :]
    outcome = diverged(members.with_(name, made))
    assert (outcome.detail["member"], outcome.detail["offset"]) == (name, offset)
