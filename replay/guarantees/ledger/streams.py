"""A channel as bytes and as records: what a path of its sender put on it, and what a path of its receiver took."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from replay.debugger.outcome import Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import Placed, placed_buffers, placed_receipts
from replay.errors import CorruptMember
from replay.guarantees.ledger.executions import Path
from replay.model import Channel, Lineage
from replay.runtime.body.records import RecordReader

MOST_RECORDS = 2_000_000


class Run(NamedTuple):
    """Buffers of one attempt of the sender, numbered from `first` to `last`, taken or cut one after the other."""

    attempt: int
    first: int
    last: int


def runs_of(buffers: Iterator[tuple[int, int]]) -> list[Run]:
    """(sender's attempt, number) put together."""
    found: list[Run] = []
    for attempt, seq in buffers:
        if found and found[-1].attempt == attempt and found[-1].last + 1 == seq:
            found[-1] = Run(attempt, found[-1].first, seq)
        else:
            found.append(Run(attempt, seq, seq))
    return found


def cut_in(source: RecordingSource, channel: Channel, path: Path) -> Iterator[tuple[int, Placed]]:
    """(attempt, buffer): all that a path of the sender cut, in order."""
    for segment in path:
        for placed in placed_buffers(source, channel.source, segment.attempt, channel.k, from_epoch=segment.begins):
            if segment.has(placed.frame.epoch):
                yield segment.attempt, placed


def taken_in(source: RecordingSource, channel: Channel, path: Path) -> Iterator[tuple[int, int]]:
    """(sender's attempt, number): all that a path of the receiver took, in the order taken."""
    for segment in path:
        found = [
            (receipt.taken_us, receipt.sender_attempt, receipt.seq)
            for _, _, receipt in placed_receipts(source, channel.target, segment.attempt, channel.i)
            if receipt.taken and segment.has(receipt.epoch)
        ]
        # Filed by their senders' epochs: those of a new sender may stand before those of the one before.
        yield from ((attempt, seq) for _, attempt, seq in sorted(found))


class Entry(NamedTuple):
    """A record: what it is, whose consequence, and the buffer that it ends in."""

    end: int
    digest: bytes
    lineage: Lineage | None
    attempt: int
    seq: int
    epoch: int


@dataclass(slots=True)
class Stream:
    """What a path of the sender put on the channel. `spans`: of each buffer, its beginning and end in record bytes."""

    entries: list[Entry] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    spans: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, source: RecordingSource, channel: Channel, path: Path) -> Stream:
        """Raises `Missing` where there are too many records to be told apart."""
        stream, reader, at = cls(), RecordReader(channel.id), 0
        for attempt, placed in cut_in(source, channel, path):
            frame = placed.frame
            size = 0 if frame.is_event else len(frame.payload)
            stream.spans[attempt, frame.seq] = at, at + size
            if size:
                stream._add(reader, placed, attempt, at)
            at += size
        return stream

    def _add(self, reader: RecordReader, placed: Placed, attempt: int, at: int) -> None:
        frame = placed.frame
        end = at - reader.partial_bytes
        try:
            records = reader.feed(frame.payload)
        except CorruptMember as fault:
            raise CorruptMember(fault.why, path=placed.path, offset=placed.offset, remedy=fault.remedy) from None
        for record in records:
            body = record.to_bytes()
            end += len(body)
            digest = blake2b(body, digest_size=8).digest()
            self.entries.append(Entry(end, digest, record.lineage, attempt, frame.seq, frame.epoch))
            self.ends.append(end)
        if len(self.entries) > MOST_RECORDS:
            raise Missing(f"The channel has more than {MOST_RECORDS:,} records, which can't be told apart at once.")

    def alike(self, other: Stream) -> int:
        """How many records from the beginning are the same, at the same places, in both."""
        same = 0
        for mine, theirs in zip(self.entries, other.entries, strict=False):
            if (mine.end, mine.digest) != (theirs.end, theirs.digest):
                break
            same += 1
        return same


def name_of(lineage: Lineage) -> str:
    """A lineage, whatever order it is in."""
    return json.dumps(sorted(lineage))
