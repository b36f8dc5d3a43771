"""What one execution took, in its order, and what it gave of it: to be held against another execution of the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replay.bundle.frames import ReceiptFrame
from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.guarantees.recovery_types.scene import Recovered
from replay.guarantees.recovery_types.streams import MOST_RECORDS, Streams, TooMuch, digest
from replay.model import Channel, json_bytes
from replay.runtime.body.records import RecordReader

Names = frozenset[tuple[str, int]]
"""Of source records: task and offset. What names none is not told apart."""
Place = tuple[int, int]
"""Input, and which of its elements."""


class Output(NamedTuple):
    """A record that came out: of which source records, what it is (`plain`: without them), and where it stands."""

    names: Names
    what: bytes
    plain: bytes
    evidence: str


class Input(NamedTuple):
    """An element that went in, in that epoch; a watermark has no `names`. `plain`: what it is without them."""

    place: Place
    epoch: int
    names: Names
    what: bytes
    plain: bytes


@dataclass(slots=True)
class Executed:
    """One attempt since a checkpoint. `inputs` in the order in which they were taken."""

    task: str
    attempt: int
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def of_channel(self, i: int) -> list[Input]:
        """What it took of one input."""
        return [one for one in self.inputs if one.place[0] == i]

    def given(self) -> dict[Names, Counter[bytes]]:
        """What came out, by what it came of."""
        found: dict[Names, Counter[bytes]] = defaultdict(Counter)
        for one in self.outputs:
            found[one.names][one.what] += 1
        return found


def executed(streams: Streams, one: Recovered, attempt: int) -> Executed:
    """The attempt, or one before it, from the same checkpoint on."""
    found = Executed(one.task, attempt)
    shape = streams.source.graph.task(one.task)
    taken = [
        (receipt.taken_us, i, receipt.epoch, element)
        for i, name in enumerate(shape.inputs)
        for receipt, element in _taken(streams, one, streams.source.graph.channel(name), attempt)
    ]
    counts: Counter[int] = Counter()
    # What one buffer brings is taken at one time: the order in which it stands there is kept.
    for _, i, epoch, element in sorted(taken, key=lambda each: each[:2]):
        found.inputs.append(Input((i, counts[i]), epoch, *element))
        counts[i] += 1
    if not shape.inputs:
        found.inputs += _read(streams, one, attempt)
    found.outputs += _sent(streams, one, attempt)
    found.outputs += _written(streams, one, attempt)
    return found


def _taken(
    streams: Streams, one: Recovered, channel: Channel, attempt: int
) -> Iterator[tuple[ReceiptFrame, tuple[Names, bytes, bytes]]]:
    first, reader, sender = one.first_seq("inputs", channel.id), RecordReader(channel.id), -1
    frames = {}
    for receipt in streams.takes(channel, attempt):
        if receipt.seq < first:
            continue
        if receipt.sender_attempt != sender:
            sender = receipt.sender_attempt
            all_ = streams.buffers(channel.source, sender, channel.k, one.checkpoint)
            frames = {frame.seq: frame for frame in all_}
            if not streams.source.manifest.protocol.logs or (channel.source, sender) in streams.anew:
                reader.reset()  # it begins with a whole record
        frame = frames.get(receipt.seq)
        if frame is None:
            return  # what comes after it is not known to be in order
        if frame.is_event:
            if b'"watermark"' in frame.payload:
                yield receipt, (frozenset(), digest(frame.payload), digest(frame.payload))
            continue
        for record in reader.feed(frame.payload):
            plain = digest(json_bytes(record[:3]))
            yield receipt, (frozenset(record.lineage or ()), digest(json_bytes(record.to_json())), plain)


def _read(streams: Streams, one: Recovered, attempt: int) -> Iterator[Input]:
    """What a source read."""
    source, first, count = streams.source, one.first_offset, 0
    for epoch in source.epochs(one.task, attempt, "source"):
        path = member_name(one.task, attempt, "source", epoch)
        with source.members.open(path) as stream:
            for _, line in read_lines(stream, path):
                offset = line.get("offset")
                if type(offset) is not int or offset < first or epoch < one.checkpoint:
                    continue
                plain = digest(json_bytes(line.get("record", line.get("ref"))))
                yield Input((0, count), epoch, frozenset({(str(one.task), offset)}), plain, plain)
                count += 1
                if count > MOST_RECORDS:
                    raise TooMuch(f"attempt {attempt} of {one.task} read more than {MOST_RECORDS:,} records")


def _sent(streams: Streams, one: Recovered, attempt: int) -> Iterator[Output]:
    for output in streams.source.graph.task(one.task).outputs:
        channel = streams.source.graph.channel(output.channel)
        reader = RecordReader(channel.id)
        for frame in streams.buffers(one.task, attempt, channel.k, one.checkpoint):
            if frame.is_event:
                continue
            for record in reader.feed(frame.payload):
                what = digest(json_bytes([channel.id, record.to_json()]))
                evidence = f"buffer:{channel.id}/{attempt}#{frame.seq}"
                yield Output(frozenset(record.lineage or ()), what, digest(json_bytes(record[:3])), evidence)


def _written(streams: Streams, one: Recovered, attempt: int) -> Iterator[Output]:
    for epoch in streams.source.epochs(one.task, attempt, "sink"):
        if epoch < one.checkpoint:
            continue
        path = member_name(one.task, attempt, "sink", epoch)
        with streams.source.members.open(path) as stream:
            for _, line in read_lines(stream, path):
                record, evidence = line.get("record"), f"sink:{one.task}/{attempt}/{epoch}#{line.get('n')}"
                names = _names(line.get("source"))
                yield Output(names, digest(json_bytes([record, sorted(names)])), digest(json_bytes(record)), evidence)


def _names(source: Any) -> Names:
    """Of a sink's line; nothing where it is otherwise than the format has it."""
    pairs = source if isinstance(source, list) else []
    whole = all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and type(one[1]) is int
                for one in pairs)  # fmt: skip
    return frozenset((one[0], one[1]) for one in pairs) if whole else frozenset()
