"""Snapshots, held against the members that tell where their attempt stood when it took them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import barrier_of, placed_buffers, placed_receipts
from replay.model import TaskId


def check_snapshots(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first snapshot that says of a channel what its buffers and receipts don't.

    It is taken at a barrier: that is the last buffer of an output before it, and the last taken of an input.
    """
    protocol = source.manifest.protocol
    takes_once = protocol.name == "coordinated" or (protocol.logs and protocol.on_lost != "continue")
    if source.manifest.clock.kind != "virtual" or not takes_once:
        return  # where buffers are taken again, their numbers go on and nothing is known of the next
    for task in source.graph.order:
        for attempt in source.attempts(task):
            checkpoints = tuple(source.epochs(task, attempt, "state"))
            if checkpoints:
                _check(source, task, attempt, checkpoints)


def _check(source: RecordingSource, task: TaskId, attempt: int, checkpoints: tuple[int, ...]) -> None:
    shape = source.graph.task(task)
    states = {one: source.state(task, attempt, one) or {} for one in checkpoints}
    for k, output in enumerate(shape.outputs):
        barriers = {
            begins: (placed.path, placed.offset, placed.frame.seq)
            for placed in placed_buffers(source, task, attempt, k)
            if (begins := barrier_of(placed.frame)) is not None
        }
        for checkpoint, state in states.items():
            if checkpoint in barriers:
                path, offset, seq = barriers[checkpoint]
                where = f"barrier {checkpoint} is buffer {seq} ({path} at offset {offset})"
                _compare(task, attempt, checkpoint, state, "outputs", output.channel, seq + 1, where, path, offset)
    for i, channel in enumerate(shape.inputs):
        one = source.graph.channel(channel)
        barriers_of = {
            (sender, placed.frame.seq): begins
            for sender in source.attempts(one.source)
            for placed in placed_buffers(source, one.source, sender, one.k)
            if (begins := barrier_of(placed.frame)) is not None
        }
        for path, offset, receipt in placed_receipts(source, task, attempt, i):
            begins = barriers_of.get((receipt.sender_attempt, receipt.seq))
            if receipt.taken and begins in states:
                where = f"it took barrier {begins} as buffer {receipt.seq} ({path} at offset {offset})"
                state = states[begins]
                _compare(task, attempt, begins, state, "inputs", channel, receipt.seq + 1, where, path, offset)


def _compare(
    task: TaskId,
    attempt: int,
    checkpoint: int,
    state: Mapping[str, Any],
    side: str,
    channel: str,
    expected: int,
    where: str,
    path: str,
    offset: int,
) -> None:
    listed = state.get(side)
    found = listed.get(channel) if isinstance(listed, Mapping) else None
    if found == expected:
        return
    member = member_name(task, attempt, "state", checkpoint)
    raise DivergenceFound(
        f"{member} says that {found} is the next buffer of {channel}, but {where}, so that {expected} is next.",
        member=member,
        other_member=path,
        other_offset=offset,
        channel=channel,
        asked=expected,
        logged=found,
    )
