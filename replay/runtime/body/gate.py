"""The input gate of a task: buffers that arrived, by channel, and the channels that a barrier blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replay.errors import CorruptMember
from replay.model import ChannelId, read_json


@dataclass(frozen=True, slots=True)
class Arrival:
    """A buffer that was received and not yet taken. `tag` is whatever its driver wants to know when it is taken."""

    seq: int
    payload: bytes
    is_event: bool
    barrier: int | None = None
    tag: Any = None
    watermark_ms: int | None = None


def arrival(seq: int, payload: bytes, is_event: bool, *, channel: str = "", tag: Any = None) -> Arrival:
    """Reads what the gate must know of a buffer: whether it is a barrier, and of which checkpoint, or a watermark."""
    if not is_event:
        return Arrival(seq, payload, False, None, tag)
    try:
        event = read_json(payload)
        barrier, watermark_ms = event.get("barrier"), event.get("watermark")
        if barrier is not None and type(barrier) is not int:
            raise ValueError("a barrier's checkpoint is an integer")
        if watermark_ms is not None and type(watermark_ms) is not int:
            raise ValueError("a watermark is an integer")
    except (ValueError, AttributeError) as fault:
        raise CorruptMember(
            f"the event in buffer {seq} of {channel} can't be read: {fault}", remedy="The buffer is damaged"
        ) from None
    return Arrival(seq, payload, True, barrier, tag, watermark_ms)


class InputGate:
    """One queue per input channel, in channel-index order."""

    def __init__(self, channels: Sequence[ChannelId]):
        self.channels = tuple(channels)
        self.blocked: set[int] = set()
        self._queues: tuple[deque[Arrival], ...] = tuple(deque() for _ in channels)

    def offer(self, i: int, arrived: Arrival) -> None:
        """A buffer arrived on input `i`."""
        self._queues[i].append(arrived)

    def head(self, i: int) -> Arrival | None:
        """The next buffer of input `i`, left where it is."""
        return self._queues[i][0] if self._queues[i] else None

    def take(self, i: int) -> Arrival:
        """The next buffer of input `i`."""
        return self._queues[i].popleft()

    def waiting(self, i: int) -> int:
        """How many buffers of input `i` were not taken yet."""
        return len(self._queues[i])

    def ready(self) -> list[int]:
        """The inputs with a buffer, that no barrier blocks."""
        return [i for i, queue in enumerate(self._queues) if queue and i not in self.blocked]

    def discard(self, i: int) -> tuple[Arrival, ...]:
        """Drops what arrived on input `i` and was not taken; returns it."""
        dropped = tuple(self._queues[i])
        self._queues[i].clear()
        return dropped

    def untaken(self, i: int) -> tuple[Arrival, ...]:
        """What arrived on input `i` and was not taken, in order."""
        return tuple(self._queues[i])
