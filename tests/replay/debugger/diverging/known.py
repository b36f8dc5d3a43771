"""What an undamaged recording's own bytes tell of an attempt: when it did what, what it took, sent and logged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from replay.bundle.frames import BufferFrame, read_buffers, read_receipts, read_sendings
from replay.log.codec import decode_all
from replay.log.determinants import IgnoreCheckpoint
from tests.replay.debugger.diverging.plants import EVENTS
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

Event = dict[str, Any]

ARRIVALS = (
    "channel-lost", "channel-reconnected", "determinants-request-received", "determinants-received",
    "replay-request-received", "checkpoint-notified", "checkpoint-ignored", "state-restored",
)  # fmt: skip
"""What comes to an attempt from outside of it, after a while that nothing bounds."""
BESIDE = ("checkpoint-acknowledged", "checkpoint-notified", "restore-started", "state-restored")
OF_CHANNELS = (
    "channel-lost", "channel-reconnected", "determinants-requested", "determinants-request-received",
    "determinants-returned", "determinants-received", "replay-requested", "replay-request-received",
)  # fmt: skip
US_PER_MS = 1000


def events_in(members: MemoryMembers) -> list[Event]:
    return [json.loads(line) for line in members.members[EVENTS].splitlines()]


def times_of(members: MemoryMembers, task: str, attempt: int, folder: str = "") -> Iterator[int]:
    """Of all that its members tell of: it cut, sent, was sent, took, read, wrote and left outside."""
    for name, data in members.members.items():
        if not name.startswith(f"tasks/{task}/{attempt}/{folder}"):
            continue
        suffix = name.rpartition(".")[2]
        if suffix == "buf":
            yield from (one.t_us for _, one in read_buffers(data, epoch=0))
        elif suffix == "dlt":
            yield from (one.t_us for _, one in read_sendings(data))
        elif suffix == "rcv":
            for _, receipt in read_receipts(data):
                yield from (receipt.received_us, receipt.taken_us)
        elif suffix == "ndjson":
            yield from (json.loads(line)["t_us"] for line in data.splitlines() if b'"t_us"' in line)


def times_with(members: MemoryMembers, event: Event) -> list[int]:
    """Of what the attempt does that has to do with such an event: nothing with a snapshot that is uploaded beside it,
    and with a channel only what goes over that."""
    task, attempt = event.get("at", event.get("task")), event.get("attempt")
    if not isinstance(task, str) or not isinstance(attempt, int) or event["type"] in BESIDE:
        return []
    if event["type"] in OF_CHANNELS and event["channel"].count(">") == 1:
        shape = bundle_of(members).graph.task(task)
        inputs, outputs = shape.inputs, [one.channel for one in shape.outputs]
        channel = event["channel"]
        k = f"received-{inputs.index(channel)}/" if channel in inputs else f"sent-{outputs.index(channel)}/"
        return [*times_of(members, task, attempt, k)]
    return [*times_of(members, task, attempt)]


def events_at(events: list[Event], task: str, attempt: int) -> Iterator[Event]:
    return (one for one in events if one.get("at", one.get("task")) == task and one.get("attempt") == attempt)


def touches_the_channel(members: MemoryMembers, event: Event, before_us: int = 1 << 62) -> bool:
    """Whether the attempt cut or sent anything on an output since, or anything arrived on an input."""
    task, attempt, channel = event["at"], event["attempt"], event["channel"]
    inputs = bundle_of(members).graph.task(task).inputs
    times = times_with(members, event)
    if channel in inputs:
        folder = f"tasks/{task}/{attempt}/received-{inputs.index(channel)}/"
        data = (one for name, one in members.members.items() if name.startswith(folder))
        times = [receipt.received_us for one in data for _, receipt in read_receipts(one)]
    return any(event["t_us"] <= t_us < before_us for t_us in times)


def times_sent_over(members: MemoryMembers, event: Event) -> list[int]:
    """When the attempt that the event is of sent anything on its channel."""
    task, attempt, channel = event["at"], event["attempt"], event["channel"]
    k = [output.channel for output in bundle_of(members).graph.task(task).outputs].index(channel)
    return [
        sending.t_us
        for name, data in members.members.items()
        if name.startswith(f"tasks/{task}/{attempt}/sent-{k}/") and name.endswith(".dlt")
        for _, sending in read_sendings(data)
    ]


def lets_go_by_its_log(members: MemoryMembers, one: Event) -> bool:
    folder = f"tasks/{one['at']}/{one['attempt']}/main/"
    logs = (data for name, data in members.members.items() if name.startswith(folder))
    choices = (choice for data in logs for *_, choice in decode_all(data))
    return any(isinstance(choice, IgnoreCheckpoint) and choice.checkpoint == one["checkpoint"] for choice in choices)


def barriers_taken(members: MemoryMembers, task: str, attempt: int) -> set[int]:
    """The checkpoints of which any input brought a barrier."""
    graph, found = bundle_of(members).graph, set()
    for i, name in enumerate(graph.task(task).inputs):
        channel = graph.channel(name)
        taken = {
            (receipt.sender_attempt, receipt.seq)
            for name, data in members.members.items()
            if name.startswith(f"tasks/{task}/{attempt}/received-{i}/")
            for _, receipt in read_receipts(data)
            if receipt.taken
        }
        for sender, seq, frame in _buffers_on(members, channel.source, channel.k):
            barrier = json.loads(frame.payload).get("barrier") if frame.is_event else None
            if barrier is not None and (sender, seq) in taken:
                found.add(barrier)
    return found


def _buffers_on(members: MemoryMembers, source: str, k: int) -> Iterator[tuple[int, int, BufferFrame]]:
    """(attempt, sequence number, buffer) of all that were cut there."""
    for name, data in members.members.items():
        if name.startswith(f"tasks/{source}/") and f"/sent-{k}/" in name and name.endswith(".buf"):
            for _, frame in read_buffers(data, epoch=0):
                yield int(name.split("/")[2]), frame.seq, frame
