"""Reading the frames of a recording up to where they are damaged, and those that writers left with the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from replay.bundle.frames import ReceiptFrame, SendingFrame
from replay.causality.recording import Recording
from replay.errors import ReplayError
from replay.model import WORLD, Channel, ChannelId, TaskId, channel_id

Frame = TypeVar("Frame", SendingFrame, ReceiptFrame)


@dataclass(frozen=True, slots=True)
class Fault:
    """A delta, or the rest of a member after this buffer, that could not be followed."""

    channel: ChannelId
    seq: int
    why: str


def readable(channel: ChannelId, frames: Iterator[Frame], faults: list[Fault]) -> Iterator[Frame]:
    """A member is read up to its fault; what stands behind it is not known."""
    seq = -1
    try:
        for frame in frames:
            seq = frame.seq
            yield frame
    except ReplayError as fault:
        faults.append(Fault(channel, seq, str(fault)))


def left_with_the_world(
    recording: Recording, task: TaskId, attempts: Callable[[TaskId], Iterable[int]], faults: list[Fault]
) -> Iterator[tuple[Channel, int, Iterator[SendingFrame]]]:
    """By writer at the task or below, and by its attempt: what it left outside, on a channel of its own."""
    below = recording.graph.all_downstream(task) | {task}
    for writer in (one for one in recording.graph.order if one in below):
        channel = Channel(channel_id(writer, WORLD), writer, -1, WORLD, -1)
        for attempt in attempts(writer):
            yield channel, attempt, readable(channel.id, recording.world(writer, attempt), faults)
