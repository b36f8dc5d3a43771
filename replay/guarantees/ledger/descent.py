"""What a task gave away came of what it took: records name the source records that they come from."""

from __future__ import annotations

from collections.abc import Iterator

from replay.bundle.members import member_name
from replay.debugger.outcome import Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import Placed, placed_buffers, placed_receipts
from replay.errors import CorruptMember, ReplayError
from replay.guarantees.ledger.executions import Executions, Path
from replay.guarantees.ledger.streams import Stream
from replay.guarantees.ledger.takes import Takes
from replay.model import Channel, TaskId
from replay.runtime.body.records import RecordReader

Origin = tuple[str, int]
"""A record of a source: (task, offset)."""


def check_descent(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> None:
    """Raises `Missing` at the first record that an attempt gave away and that comes of none that is recorded to have
    been taken, where a buffer that brought it was sent to that attempt."""
    path = executions.path(task, attempt)
    if path[0].begins:
        return  # what it began with nobody knows
    try:
        taken = _taken(source, executions, task, path)
        if taken is None:
            return
        for placed, origin in _given(source, task, attempt):
            if origin not in taken:
                _miss(source, executions, task, attempt, placed, origin)
                return
    except (CorruptMember, Missing) as fault:
        if isinstance(fault, Missing) and fault.detail.get("lacks"):
            raise
        return  # others say where


def _taken(source: RecordingSource, executions: Executions, task: TaskId, path: Path) -> set[Origin] | None:
    """What the executions took that led to its state; None where records don't say what they come from."""
    found: set[Origin] = set()
    for name in source.graph.task(task).inputs:
        for *_, entry in Takes.read(source, executions, source.graph.channel(name), path).entries():
            if entry.lineage is None:
                return None
            found.update(entry.lineage)
    return found


def _given(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[Placed, Origin]]:
    for k, output in enumerate(source.graph.task(task).outputs):
        reader = RecordReader(output.channel)
        for placed in placed_buffers(source, task, attempt, k):
            for record in [] if placed.frame.is_event else reader.feed(placed.frame.payload):
                yield from ((placed, origin) for origin in record.lineage or ())


def _miss(
    source: RecordingSource, executions: Executions, task: TaskId, attempt: int, placed: Placed, origin: Origin
) -> None:
    """Names the receipt of a buffer that ends a record of that origin; of an attempt of its sender any."""
    for i, name in enumerate(source.graph.task(task).inputs):
        channel = source.graph.channel(name)
        there = {(one.sender_attempt, one.seq) for *_, one in placed_receipts(source, task, attempt, i) if one.taken}
        for sender in source.attempts(channel.source):
            for entry in _stream(source, executions, channel, sender).entries:
                if origin in (entry.lineage or ()) and (entry.attempt, entry.seq) not in there:
                    lacks = member_name(task, attempt, f"received-{i}", entry.epoch, "rcv")
                    raise Missing(
                        f"{placed.path} at offset {placed.offset} has what came of record {origin[1]} of {origin[0]}, "
                        f"which buffer {entry.seq} of {name} brought, and attempt {attempt} of {task} is not recorded "
                        f"to have taken it ({lacks}).",
                        lacks=lacks,
                        other_member=placed.path,
                        channel=name,
                    )


def _stream(source: RecordingSource, executions: Executions, channel: Channel, sender: int) -> Stream:
    try:
        return Stream.read(source, channel, executions.path(channel.source, sender))
    except ReplayError:
        return Stream()
