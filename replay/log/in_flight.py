"""The in-flight log: buffers sent, by channel and epoch, kept for a receiver that may fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from replay.model import ChannelId

Buffer = TypeVar("Buffer")


class InFlightLog(Generic[Buffer]):
    """In memory. What a buffer is, is its user's business."""

    def __init__(self) -> None:
        self._buffers: dict[ChannelId, dict[int, list[Buffer]]] = {}

    def append(self, channel: ChannelId, epoch: int, buffer: Buffer) -> None:
        """Keeps a buffer, the last of its epoch so far."""
        self._buffers.setdefault(channel, {}).setdefault(epoch, []).append(buffer)

    def count(self, channel: ChannelId, epoch: int) -> int:
        """How many buffers of exactly this epoch are kept."""
        return len(self._buffers.get(channel, {}).get(epoch, ()))

    def replay(self, channel: ChannelId, epoch: int, skip: int = 0) -> Iterator[Buffer]:
        """Every buffer from that epoch on, without the first `skip` of them; also those appended while it runs."""
        epochs = self._buffers.get(channel, {})
        index, current = skip, min((one for one in epochs if one >= epoch), default=None)
        while current is not None:
            buffers = epochs.get(current, [])
            while index < len(buffers):
                yield buffers[index]
                index += 1
            index -= len(buffers)
            current = min((one for one in epochs if one > current), default=None)

    def truncate(self, before_epoch: int) -> None:
        """Forgets every buffer of the epochs before this one."""
        for epochs in self._buffers.values():
            for epoch in [one for one in epochs if one < before_epoch]:
                del epochs[epoch]
