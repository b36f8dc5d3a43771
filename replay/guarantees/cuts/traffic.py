"""What went over the channels of a recording: numbers and times of what was cut and taken, in arrays.

Read once, an attempt's side of a channel at a time; sixteen bytes a buffer and twenty-four a take are kept, and twelve
more for a buffer of a task that had several attempts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TypeVar

from replay.bundle.frames import BufferFrame, ReceiptFrame
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError
from replay.model import Channel

Frame = TypeVar("Frame", BufferFrame, ReceiptFrame)
_CONTENT_BYTES = 12


class Cutting:
    """The buffers that one attempt cut on a channel, in their order. A clock that was set back is taken to stand."""

    __slots__ = ("_contents", "cut_us", "seqs")

    def __init__(self, frames: Iterable[BufferFrame], *, contents: bool):
        self.seqs, times = array("q"), array("q")
        self._contents = bytearray() if contents else None
        for frame in frames:
            self.seqs.append(frame.seq)
            times.append(frame.t_us)
            if self._contents is not None:
                kind = b"event" if frame.is_event else b"records"
                self._contents += blake2b(frame.payload, digest_size=_CONTENT_BYTES, person=kind).digest()
        self.cut_us = array("q", accumulate(times, max))

    def before(self, t_us: int) -> int:
        """How many were cut up to and in that microsecond."""
        return bisect_right(self.cut_us, t_us)

    def place(self, seq: int) -> int | None:
        """Which of them has that number."""
        at = seq - self.seqs[0] if self.seqs else -1  # as it is wherever nothing is missing
        if 0 <= at < len(self.seqs) and self.seqs[at] == seq:
            return at
        at = bisect_left(self.seqs, seq)
        return at if at < len(self.seqs) and self.seqs[at] == seq else None

    def content(self, seq: int) -> bytes | None:
        """What stands for the bytes of the buffer of that number."""
        at = None if self._contents is None else self.place(seq)
        if at is None or self._contents is None:
            return None
        return bytes(self._contents[at * _CONTENT_BYTES : (at + 1) * _CONTENT_BYTES])


class Taking:
    """The takes of one attempt from a channel, in their order."""

    def __init__(self, receipts: Iterable[ReceiptFrame], *, by_time: bool):
        self.seqs, times = array("q"), array("q")
        self.senders, self.sendings = array("I"), array("I")
        for one in receipts:
            if one.taken:
                self.seqs.append(one.seq)
                times.append(one.taken_us)
                self.senders.append(one.sender_attempt)
                self.sendings.append(one.sending)
        if by_time and any(one > following for one, following in pairwise(times)):
            times = self._sort(times)
        self.taken_us = array("q", accumulate(times, max))

    def _sort(self, times: array[int]) -> array[int]:
        """Members are by epoch, and some sender began anew at an epoch that its receiver had left."""
        order = sorted(range(len(times)), key=times.__getitem__)
        self.seqs = array("q", (self.seqs[at] for at in order))
        self.senders = array("I", (self.senders[at] for at in order))
        self.sendings = array("I", (self.sendings[at] for at in order))
        return array("q", (times[at] for at in order))

    def before(self, t_us: int) -> int:
        """How many were taken up to and in that microsecond."""
        return bisect_right(self.taken_us, t_us)

    def last_before(self, seq: int, t_us: int) -> int | None:
        """Which take of that number is the last one up to that time."""
        return next((at for at in range(self.before(t_us) - 1, -1, -1) if self.seqs[at] == seq), None)

    @cached_property
    def highest(self) -> array[int]:
        """Of each take the highest number up to it."""
        return array("q", accumulate(self.seqs, max))

    @cached_property
    def out_of_order(self) -> array[int]:
        """The takes that do not follow the one before them by one."""
        return array("q", (at for at, (one, following) in enumerate(pairwise(self.seqs), 1) if following != one + 1))


class Traffic:
    """Both sides of every channel, read when they are asked for. What can't be read to its end is told in `faults`."""

    def __init__(self, source: RecordingSource):
        self._source = source
        self._by_time = source.manifest.clock.kind == "virtual"
        self._cut: dict[tuple[str, int], Cutting] = {}
        self._taken: dict[tuple[str, int], Taking] = {}
        self.faults: list[ReplayError] = []

    def cut(self, channel: Channel, attempt: int) -> Cutting:
        """What the sender's attempt cut."""
        if (channel.id, attempt) not in self._cut:
            frames = self._readable(self._source.buffers(channel.source, attempt, channel.k))
            several = len(tuple(self._source.attempts(channel.source))) > 1
            self._cut[channel.id, attempt] = Cutting(frames, contents=several)
        return self._cut[channel.id, attempt]

    def taken(self, channel: Channel, attempt: int) -> Taking:
        """What the receiver's attempt took."""
        if (channel.id, attempt) not in self._taken:
            receipts = self._readable(self._source.receipts(channel.target, attempt, channel.i))
            self._taken[channel.id, attempt] = Taking(receipts, by_time=self._by_time)
        return self._taken[channel.id, attempt]

    def _readable(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        try:
            yield from frames
        except ReplayError as fault:
            self.faults.append(fault)
