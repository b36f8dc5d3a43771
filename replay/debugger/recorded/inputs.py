"""What a task took, channel by channel, as its receipts tell, with the payloads from its upstream tasks' buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replay.bundle.frames import ReceiptFrame
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import Placed, placed_buffers, placed_receipts
from replay.errors import CorruptMember
from replay.model import Channel, TaskId


class Taken(NamedTuple):
    """A buffer that was taken: its receipt, and the frame at its sender."""

    i: int
    attempt: int
    path: str
    offset: int
    receipt: ReceiptFrame
    buffer: Placed

    @property
    def is_barrier(self) -> bool:
        """The only buffer that is taken without an order determinant; what can't be read is found out elsewhere."""
        frame = self.buffer.frame
        return frame.is_event and b'"barrier"' in frame.payload


@dataclass(slots=True)
class _Reader:
    """Goes through one attempt's buffers of a channel, forwards; begins anew where it is asked to go back."""

    source: RecordingSource
    channel: Channel
    attempt: int
    frames: Iterator[Placed] | None = None
    last_seq: int = -1

    def find(self, seq: int) -> Placed | None:
        if self.frames is None or seq <= self.last_seq:
            self.frames = placed_buffers(self.source, self.channel.source, self.attempt, self.channel.k)
        for placed in self.frames:
            self.last_seq = placed.frame.seq
            if placed.frame.seq == seq:
                return placed
        self.frames = None
        return None


class Payloads:
    """The buffers of one channel by (sender's attempt, seq)."""

    def __init__(self, source: RecordingSource, channel: Channel):
        self.source = source
        self.channel = channel
        self._readers: dict[int, _Reader] = {}

    def find(self, attempt: int, seq: int) -> Placed | None:
        """The buffer, if the recording has it."""
        if attempt not in self._readers:
            self._readers[attempt] = _Reader(self.source, self.channel, attempt)
        return self._readers[attempt].find(seq)


class ChannelTakes:
    """The takes of one input: an attempt's own, then what earlier attempts had taken beyond them."""

    def __init__(
        self,
        source: RecordingSource,
        task: TaskId,
        i: int,
        attempts: Iterable[int],
        first_seq: int = 0,
        *,
        in_time: bool = False,
    ):
        """`first_seq`: where the restored snapshot left off; what is before it is in the state already.

        `in_time`: some sender began anew at an epoch that its receiver had left, so that epochs tell no order.
        """
        self._in_time = in_time
        channel = source.graph.channel(source.graph.task(task).inputs[i])
        self.channel = channel
        self._takes = self._follow(source, task, i, tuple(attempts), Payloads(source, channel))
        self._head: Taken | None = None
        self._fault: Exception | None = None
        self._first_seq = first_seq

    def head(self) -> Taken | None:
        """The next take, left where it is. What keeps it from being read does so as often as it is asked for."""
        if self._fault is not None:
            raise self._fault
        if self._head is None:
            try:
                self._head = next(self._takes, None)
            except (DivergenceFound, Missing, CorruptMember) as fault:
                self._fault = fault
                raise
        return self._head

    def take(self) -> Taken | None:
        """The next take."""
        head, self._head = self.head(), None
        return head

    def _follow(
        self, source: RecordingSource, task: TaskId, i: int, attempts: tuple[int, ...], payloads: Payloads
    ) -> Iterator[Taken]:
        beyond = upto = self._first_seq - 1
        for attempt in attempts:
            for path, offset, receipt in self._receipts(source, task, attempt, i):
                # An attempt itself takes what it took: past lost choices that may be numbers that it had before.
                if not receipt.taken or (receipt.seq <= beyond and attempt != attempts[0]):
                    continue
                upto = max(upto, receipt.seq)
                yield Taken(i, attempt, path, offset, receipt, self._payload(path, offset, receipt, payloads))
            beyond = upto

    def _receipts(
        self, source: RecordingSource, task: TaskId, attempt: int, i: int
    ) -> Iterable[tuple[str, int, ReceiptFrame]]:
        found = placed_receipts(source, task, attempt, i)
        return sorted(found, key=lambda one: one[2].taken_us) if self._in_time else found

    def _payload(self, path: str, offset: int, receipt: ReceiptFrame, payloads: Payloads) -> Placed:
        sender = self.channel.source
        placed = payloads.find(receipt.sender_attempt, receipt.seq)
        if placed is not None:
            return placed
        folder = f"tasks/{sender}/{receipt.sender_attempt}/sent-{self.channel.k}/"
        if not any(True for _ in payloads.source.members.names(folder)):
            raise Missing(
                f"The recording lacks the buffers that {sender} sent on {self.channel.id} (no member under {folder}), "
                f"so its receiver's records can't be processed again.",
                member=folder,
                channel=self.channel.id,
            )
        raise DivergenceFound(
            f"{path} at offset {offset} says that buffer {receipt.seq} of {self.channel.id} was taken, but attempt "
            f"{receipt.sender_attempt} of {sender} has no such buffer under {folder}.",
            member=path,
            offset=offset,
            channel=self.channel.id,
            buffer=receipt.seq,
        )
