"""What snapshots, receipts and records number, held against what is there: what is gone from an end is missed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import barrier_of, placed_buffers, placed_receipts, placed_sendings
from replay.guarantees.ledger.executions import Executions
from replay.log.determinants import Order, SourceCheckpoint
from replay.model import MAIN, Channel, TaskId


def check_sendings(source: RecordingSource, channel: Channel) -> None:
    """Raises `Missing` at the first receipt of a sending that isn't there."""
    sent: dict[int, set[tuple[int, int]]] = {}
    for attempt in source.attempts(channel.target):
        for path, offset, receipt in placed_receipts(source, channel.target, attempt, channel.i):
            sender = receipt.sender_attempt
            if sender not in sent:
                found = placed_sendings(source, channel.source, sender, channel.k)
                sent[sender] = {(frame.seq, frame.sending) for *_, frame in found}
            if (receipt.seq, receipt.sending) not in sent[sender]:
                epoch = int(path.rpartition("/")[2].removesuffix(".rcv"))
                member = member_name(channel.source, sender, f"sent-{channel.k}", epoch, "dlt")
                raise Missing(
                    f"{path} at offset {offset} has the receipt of sending {receipt.sending} of buffer {receipt.seq} "
                    f"of {channel.id}, which {member} does not have.",
                    lacks=member,
                    other_member=path,
                )


def check_arrivals(source: RecordingSource, channel: Channel) -> None:
    """Raises `DivergenceFound` at the first receipt of what was never taken that stands before an earlier one."""
    for attempt in source.attempts(channel.target):
        before: tuple[str, int] = "", 0
        for path, offset, receipt in placed_receipts(source, channel.target, attempt, channel.i):
            if not receipt.taken and before > (path, receipt.received_us) and before[0] == path:
                raise DivergenceFound(
                    f"{path} at offset {offset}: the receipt of buffer {receipt.seq} of {channel.id}, which was never "
                    f"taken, says that it was received at {receipt.received_us} us, and the one before it at "
                    f"{before[1]} us: they stand in the order received.",
                    member=path,
                    offset=offset,
                    channel=channel.id,
                )
            before = (path, receipt.received_us) if not receipt.taken else before


def check_orders(source: RecordingSource, task: TaskId, attempt: int) -> None:
    """Raises `Missing` where more buffers of an input were taken than the log has choices of it: but for barriers,
    each is one."""
    inputs = source.graph.task(task).inputs
    epochs = tuple(source.epochs(task, attempt, MAIN))
    if len(inputs) < 2 or not epochs or source.manifest.clock.kind != "virtual":
        return
    chosen: Counter[int] = Counter()
    for epoch in epochs:
        found = source.determinants(task, attempt, MAIN, epoch)
        chosen.update(one.channel for _, _, one in found if isinstance(one, Order))
    for i, name in enumerate(inputs):
        taken = _taken_but_barriers(source, task, attempt, i)
        if taken > chosen[i]:
            raise Missing(
                f"Attempt {attempt} of {task} took {taken} buffers of {name} that are no barriers, and its log has "
                f"{chosen[i]} choices of that input.",
                lacks=member_name(task, attempt, MAIN, epochs[-1]),
                channel=name,
            )


def _taken_but_barriers(source: RecordingSource, task: TaskId, attempt: int, i: int) -> int:
    channel = source.graph.channel(source.graph.task(task).inputs[i])
    taken: dict[int, set[int]] = {}
    for *_, one in placed_receipts(source, task, attempt, i):
        if one.taken:
            taken.setdefault(one.sender_attempt, set()).add(one.seq)
    for sender, seqs in taken.items():
        cut = placed_buffers(source, channel.source, sender, channel.k)
        seqs -= {one.frame.seq for one in cut if barrier_of(one.frame) is not None}
    return sum(map(len, taken.values()))


def check_snapshots_reached(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> None:
    """Raises `Missing` where a snapshot says that more had been taken, cut or read than is there."""
    before = _restored(source, executions, task, attempt)
    for checkpoint in source.epochs(task, attempt, "state"):
        state = source.state(task, attempt, checkpoint) or {}
        for name, channel, side, there in _sides(source, task, attempt):
            reached, known = _number(state, name, channel), _number(before, name, channel)
            if reached > known and reached - 1 not in there:
                raise Missing(
                    f"tasks/{task}/{attempt}/state/{checkpoint}.json says that buffer {reached - 1} of {channel} had "
                    f"been {side}, and nothing of attempt {attempt} of {task} says so.",
                    lacks=f"tasks/{task}/{attempt}/",
                    channel=channel,
                )


def check_counted(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> None:
    """Raises `Missing` where metrics count more records than a source is recorded to have read: the engine writes down
    what it reads before it processes it, and counts it after that."""
    manifest, counted = source.manifest, executions.counted[task, attempt]
    is_whole = manifest.complete and "excerpt" not in manifest.raw and "imported.json" not in source.members
    if not counted or not is_whole or manifest.clock.kind != "virtual":
        return
    read = sum(1 for _ in source.source(task, attempt))
    if read < counted:
        epochs = tuple(source.epochs(task, attempt, "source"))
        member = member_name(task, attempt, "source", epochs[-1]) if epochs else f"tasks/{task}/{attempt}/source/"
        raise Missing(
            f"By its metrics attempt {attempt} of {task} had processed {counted} records, and it is recorded to have "
            f"read {read} ({member}).",
            lacks=member,
        )


def check_triggers(source: RecordingSource, task: TaskId, attempt: int) -> None:
    """Raises `Missing` where a source's log goes on in another epoch and does not say by which checkpoint it came
    there."""
    if source.manifest.clock.kind != "virtual" or not source.manifest.protocol.logs:
        return
    for epoch, following in pairwise(source.epochs(task, attempt, MAIN)):
        last = deque((one for *_, one in source.determinants(task, attempt, MAIN, epoch)), maxlen=1)
        if not any(isinstance(one, SourceCheckpoint) and one.checkpoint == following for one in last):
            member = member_name(task, attempt, MAIN, epoch)
            after = member_name(task, attempt, MAIN, following)
            raise Missing(
                f"{after} is there, so attempt {attempt} of {task} passed checkpoint {following}, and the log of the "
                f"epoch before does not end with its trigger ({member}).",
                lacks=member,
                other_member=after,
            )


def _restored(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> Mapping[str, Any]:
    """The snapshot that an attempt began with."""
    path = executions.path(task, attempt)
    return (source.state(task, path[-2].attempt, path[-1].begins) or {}) if len(path) > 1 else {}


def _sides(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, str, str, set[int]]]:
    """(in the snapshot, channel, what was done, the numbers of which it is recorded)."""
    shape = source.graph.task(task)
    for i, channel in enumerate(shape.inputs):
        receipts = placed_receipts(source, task, attempt, i)
        yield "inputs", channel, "taken", {one.seq for *_, one in receipts if one.taken}
    for k, output in enumerate(shape.outputs):
        yield "outputs", output.channel, "cut", {one.frame.seq for one in placed_buffers(source, task, attempt, k)}


def _number(state: Mapping[str, Any], name: str, channel: str) -> int:
    listed = state.get(name)
    found = listed.get(channel) if isinstance(listed, Mapping) else None
    return found if type(found) is int else 0
