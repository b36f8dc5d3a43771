"""What an attempt gave: on a channel, or to the outside. By number while bytes agree, and record by record beyond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from replay.bundle.frames import BufferFrame, ReceiptFrame
from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts
from replay.errors import ReplayError
from replay.model import Channel, json_bytes
from replay.runtime.body.records import RecordReader

MOST_RECORDS = 200_000
"""More records than this of one attempt on one channel are not held against others."""
MOST_FRAMES = 500_000
"""More buffers, or receipts, neither."""


class TooMuch(ReplayError):
    """More than is looked at; said, and not left out in silence."""


class Given(NamedTuple):
    """A record that was given. `whose`: a digest of its lineage, empty where it has none; `what`: of all of it.

    `at`: the number of the buffer that ends it, or of the line, and the `epoch` of either.
    """

    whose: bytes
    what: bytes
    at: int
    epoch: int


def digest(data: bytes) -> bytes:
    """Sixteen bytes that stand for any number of them."""
    return blake2b(data, digest_size=16).digest()


@dataclass(slots=True)
class Streams:
    """Of one recording; what was read once is kept. All from an epoch on: what is before it is in the snapshot.

    `anew`: attempts that begin past choices that were lost, and finish no record that another one had begun.
    """

    source: RecordingSource
    anew: frozenset[tuple[str, int]] = frozenset()
    _frames: dict[tuple[str, int, int, int], dict[int, bytes]] = field(default_factory=dict)
    _times: dict[tuple[str, int, int, int], dict[int, int]] = field(default_factory=dict)
    _events: dict[tuple[str, int, int, int], set[int]] = field(default_factory=dict)
    _takes: dict[tuple[str, int, int], list[ReceiptFrame]] = field(default_factory=dict)

    def frames(self, task: str, attempt: int, k: int, epoch: int) -> dict[int, bytes]:
        """A digest of each buffer's epoch, kind and payload, by number."""
        key = task, attempt, k, epoch
        if key not in self._frames:
            found, times, events = dict[int, bytes](), dict[int, int](), set[int]()
            for frame in self.buffers(task, attempt, k, epoch):
                found[frame.seq] = digest(b"%d %d " % (frame.epoch, frame.is_event) + frame.payload)
                times[frame.seq] = frame.t_us
                if frame.is_event:
                    events.add(frame.seq)
                _check_count(len(found), MOST_FRAMES, "buffers", task, attempt)
            self._frames[key], self._times[key], self._events[key] = found, times, events
        return self._frames[key]

    def events(self, task: str, attempt: int, k: int, epoch: int) -> set[int]:
        """The numbers of those that carry no records."""
        self.frames(task, attempt, k, epoch)
        return self._events[task, attempt, k, epoch]

    def cut_us(self, task: str, attempt: int, k: int, epoch: int) -> dict[int, int]:
        """When each was cut."""
        self.frames(task, attempt, k, epoch)
        return self._times[task, attempt, k, epoch]

    def buffers(self, task: str, attempt: int, k: int, epoch: int) -> Iterator[BufferFrame]:
        """As they stand in the members."""
        return (placed.frame for placed in placed_buffers(self.source, task, attempt, k, from_epoch=epoch))

    def takes(self, channel: Channel, attempt: int) -> list[ReceiptFrame]:
        """What an attempt of a channel's receiver took, in the order in which it took it."""
        key = channel.target, attempt, channel.i
        if key not in self._takes:
            found = []
            for _, _, receipt in placed_receipts(self.source, channel.target, attempt, channel.i):
                if receipt.taken:
                    found.append(receipt)
                    _check_count(len(found), MOST_FRAMES, "receipts", channel.target, attempt)
            self._takes[key] = sorted(found, key=lambda one: (one.taken_us, one.sender_attempt, one.seq))
        return self._takes[key]

    def records(self, task: str, attempt: int, k: int, epoch: int) -> list[Given]:
        """The records that stand in the stream, each with the buffer that ends it."""
        reader, found = RecordReader(f"output {k} of {task}"), list[Given]()
        for frame in self.buffers(task, attempt, k, epoch):
            if frame.is_event:
                reader.reset()
                continue
            for record in reader.feed(frame.payload):
                whose = b"" if not record.lineage else digest(json_bytes(sorted(record.lineage)))
                found.append(Given(whose, digest(json_bytes(record.to_json())), frame.seq, frame.epoch))
            _check_count(len(found), MOST_RECORDS, "records", task, attempt)
        return found

    def lines(self, task: str, attempt: int, epoch: int, txns: frozenset[str] | None = None) -> list[tuple[Given, str]]:
        """What it gave to the outside, with the id of each, if it has one; with `txns`, only of those transactions."""
        found: list[tuple[Given, str]] = []
        for one in self.source.epochs(task, attempt, "sink"):
            if one < epoch:
                continue
            path = member_name(task, attempt, "sink", one)
            with self.source.members.open(path) as stream:
                for _, line in read_lines(stream, path):
                    if txns is not None and str(line.get("txn")) not in txns:
                        continue
                    found.append(_line(line, one))
                    _check_count(len(found), MOST_RECORDS, "writes", task, attempt)
        return found


def _line(line: dict[str, object], epoch: int) -> tuple[Given, str]:
    source, number, name = line.get("source"), line.get("n"), line.get("id")
    whose = digest(json_bytes(sorted(source, key=json_bytes))) if isinstance(source, list) and source else b""
    what = digest(json_bytes([line.get("record"), source]))
    at = number if type(number) is int else -1
    return Given(whose, what, at, epoch), "" if name is None else json_bytes(name).decode()


def _check_count(count: int, most: int, what: str, task: str, attempt: int) -> None:
    if count > most:
        raise TooMuch(f"attempt {attempt} of {task} has more than {most:,} {what}, which are not compared")
