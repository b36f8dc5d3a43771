"""The records that a task took, in the order in which it took them, read from the buffers of those above it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from replay.bundle.frames import ReceiptFrame
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Payloads
from replay.debugger.recorded.members import placed_receipts
from replay.guarantees.formal.trying import Came
from replay.model import Channel, Record
from replay.runtime.body.records import RecordReader


class NotRecorded(Exception):
    """What a task took is not to be had; `wants` names the member."""

    def __init__(self, wants: str) -> None:
        super().__init__(wants)
        self.wants = wants


def taken_records(source: RecordingSource, task: str, attempt: int, most: int) -> Iterator[Came]:
    """Of one attempt, from where it began; a source's are those of its partition."""
    inputs = source.graph.task(task).inputs
    found = _of_channels(source, task, attempt) if inputs else _of_partition(source, task, attempt)
    return islice(found, most)


def _of_partition(source: RecordingSource, task: str, attempt: int) -> Iterator[Came]:
    for line in source.source(task, attempt):
        if "record" not in line:
            raise NotRecorded(f"tasks/{task}/{attempt}/source/*.ndjson, with the records themselves")
        record, offset = Record.from_json(line["record"]), line.get("offset")
        if record.lineage is None and type(offset) is int:
            record = record._replace(lineage=((task, offset),))
        yield Came(0, "", record, f"source:{task}/{attempt}#{offset}")


def _of_channels(source: RecordingSource, task: str, attempt: int) -> Iterator[Came]:
    channels = [source.graph.channel(one) for one in source.graph.task(task).inputs]
    takes: list[tuple[tuple[int, ...], int, ReceiptFrame]] = []
    for i, _ in enumerate(channels):
        for _, _, one in placed_receipts(source, task, attempt, i):
            if one.taken:
                takes.append(((one.taken_us, one.epoch, one.offset, one.record_count, i), i, one))
    takes.sort(key=lambda take: take[0])
    payloads = [Payloads(source, channel) for channel in channels]
    readers = [RecordReader(channel.id) for channel in channels]
    senders: dict[int, int] = {}
    for _, i, receipt in takes:
        if senders.setdefault(i, receipt.sender_attempt) != receipt.sender_attempt:
            return  # records may begin anew: what came until here is enough
        yield from _records(source, channels[i], payloads[i], readers[i], receipt)


def _records(
    source: RecordingSource, channel: Channel, payloads: Payloads, reader: RecordReader, receipt: ReceiptFrame
) -> Iterator[Came]:
    placed = payloads.find(receipt.sender_attempt, receipt.seq)
    if placed is None:
        raise NotRecorded(f"tasks/{channel.source}/{receipt.sender_attempt}/sent-{channel.k}/*.buf")
    if placed.frame.is_event:
        return
    evidence = f"buffer:{channel.id}/{receipt.sender_attempt}#{receipt.seq}"
    origin = source.graph.task(channel.source).vertex
    for record in reader.feed(placed.frame.payload):
        yield Came(channel.i, origin, record, evidence)


def state_at_the_beginning(source: RecordingSource, task: str, attempt: int, checkpoint: int) -> dict[str, Any] | None:
    """The operator's part of the snapshot that an attempt began from; None: from nothing."""
    if not checkpoint:
        return None
    for before in sorted(source.attempts(task), reverse=True):
        state = source.state(task, before, checkpoint) if before < attempt else None
        if state is not None:
            operator = state.get("operator")
            return operator if isinstance(operator, dict) else None
    raise NotRecorded(f"tasks/{task}/*/state/{checkpoint}.json")
