"""How far an attempt had come at what time, as its receipts and buffers tell; and how fast it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from statistics import median
from typing import TypeVar

from replay.bundle.frames import BufferFrame, ReceiptFrame
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts
from replay.errors import ReplayError

Frame = TypeVar("Frame")
Place = tuple[int, int]
"""Epoch, and the records that were taken in it before."""
MOST_FRAMES = 500_000
"""More receipts, or buffers, than this of one attempt are not looked at."""
_FEWEST_PAIRS = 5


@dataclass(slots=True)
class Places:
    """Of a task, since a checkpoint. `unread`: members that can't be read, or have too much to look at."""

    source: RecordingSource
    task: str
    checkpoint: int
    unread: list[str] = field(default_factory=list)
    _takes: dict[int, list[ReceiptFrame]] = field(default_factory=dict)

    def takes(self, attempt: int) -> list[ReceiptFrame]:
        """The receipts of what an attempt took, by the time at which it took it."""
        if attempt not in self._takes:
            found = self._whole(attempt, "received", self._receipts(attempt))
            self._takes[attempt] = sorted(found, key=lambda one: one.taken_us)
        return self._takes[attempt]

    def _receipts(self, attempt: int) -> Iterator[ReceiptFrame]:
        for i in range(len(self.source.graph.task(self.task).inputs)):
            for _, _, receipt in placed_receipts(self.source, self.task, attempt, i):
                if receipt.taken and receipt.epoch >= self.checkpoint:
                    yield receipt

    def _whole(self, attempt: int, folder: str, frames: Iterator[Frame]) -> list[Frame]:
        """All of them, or none: what is there in part would say when something was done that wasn't."""
        prefix = f"tasks/{self.task}/{attempt}/{folder}"
        try:
            found = list(islice(frames, MOST_FRAMES + 1))
        except (ReplayError, DivergenceFound):
            found = []
            self.unread.append(prefix)
        if len(found) > MOST_FRAMES:
            found = []
            self.unread.append(prefix)
        if not found and not any(True for _ in self.source.members.names(prefix)):
            self.unread.append(prefix)
        return found

    def last(self, attempt: int) -> Place | None:
        """How far it came."""
        return max(((one.epoch, one.record_count) for one in self.takes(attempt)), default=None)

    def buffers(self, attempt: int, k: int) -> list[BufferFrame]:
        """What it cut on an output."""
        found = placed_buffers(self.source, self.task, attempt, k, from_epoch=self.checkpoint)
        return self._whole(attempt, f"sent-{k}", (one.frame for one in found))


def done_again_us(places: Places, attempt: int, before: Sequence[int]) -> int | None:
    """When an attempt had done all that any of those before it had done since the checkpoint; None where nothing tells.

    0: there was nothing. One that was ended while it recovered had not done all of it: those before it count too.
    """
    task = places.source.graph.task(places.task)
    outputs = range(len(task.outputs))
    times: list[int | None] = [_held_back_us(places.buffers(attempt, k)) for k in outputs]
    if task.inputs:
        times.append(_place_again_us(places, attempt, before))
    else:
        times += [
            _bytes_again_us([places.buffers(one, k) for one in before], places.buffers(attempt, k)) for k in outputs
        ]
    found = [one for one in times if one is not None]
    return max(found) if found and not places.unread and len(found) == len(times) else None


def _place_again_us(places: Places, attempt: int, before: Sequence[int]) -> int | None:
    """When it took what the attempts before took last."""
    upto = max((last for one in before if (last := places.last(one)) is not None), default=None)
    if upto is None:
        return 0
    there = (one.taken_us for one in places.takes(attempt) if (one.epoch, one.record_count) >= upto)
    return next(there, None)


def _held_back_us(frames: list[BufferFrame]) -> int:
    return max((one.t_us for one in frames if one.held_back), default=0)


def _bytes_again_us(before: Sequence[list[BufferFrame]], now: list[BufferFrame]) -> int | None:
    """A source gives the same bytes again, however they are cut."""
    due = max((sum(len(one.payload) for one in frames) for frames in before), default=0)
    given = zip(accumulate(len(one.payload) for one in now), now, strict=True)
    return next((frame.t_us for upto, frame in given if upto >= due), None) if due else 0


@dataclass(frozen=True, slots=True)
class Pace:
    """Of an attempt: what a record takes while others wait, and how many come in a second."""

    record_us: float
    per_s: float

    @property
    def load(self) -> float:
        """The share of its time that it is at work."""
        return self.record_us * self.per_s / 1e6


def pace_of(takes: list[ReceiptFrame], since_us: int, until_us: int, again: Sequence[ReceiptFrame] = ()) -> Pace | None:
    """What a record takes, from buffers that were there already when the one before was taken; how many came since a
    time. `again` is what the attempt behind it took: while that replayed, buffers waited, if none did before. None
    where that is too little to tell."""
    spans = _in_a_row(takes)
    busy = _busy_us(spans)
    if len(busy) < _FEWEST_PAIRS:
        busy += _busy_us(_in_a_row(again))
    if not takes or len(busy) < _FEWEST_PAIRS or until_us <= since_us:
        return None
    records = sum(_records(one, after) for one, after in spans if one.taken_us >= since_us)
    return Pace(median(busy), records * 1e6 / (until_us - since_us))


def _in_a_row(takes: Sequence[ReceiptFrame]) -> list[tuple[ReceiptFrame, ReceiptFrame]]:
    return [(one, after) for one, after in pairwise(takes) if after.epoch == one.epoch and _records(one, after) > 0]


def _busy_us(spans: list[tuple[ReceiptFrame, ReceiptFrame]]) -> list[float]:
    """Of each record, where nothing was waited for."""
    return [
        (after.taken_us - one.taken_us) / _records(one, after)
        for one, after in spans
        if after.received_us <= one.taken_us
    ]


def _records(one: ReceiptFrame, after: ReceiptFrame) -> int:
    return after.record_count - one.record_count
