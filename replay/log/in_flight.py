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

    def kept_since(self, channel: ChannelId, epoch: int) -> int:
        """How many buffers of this epoch and later ones are kept."""
        return sum(len(buffers) for one, buffers in self._buffers.get(channel, {}).items() if one >= epoch)

    def replay(self, channel: ChannelId, epoch: int, skip: int = 0) -> Iterator[Buffer]:
        """Every buffer from that epoch on, without the first `skip` of it; also those appended while it runs."""
        after = self._skipped(channel, epoch, skip)
        while (found := self._next(channel, *after)) is not None:
            buffer, after = found
            yield buffer

    def _skipped(self, channel: ChannelId, epoch: int, skip: int) -> tuple[int, int]:
        # `skip` may reach past its epoch: it counts the buffers from the epoch that is asked for.
        after = (epoch, skip)
        for one, buffers in sorted(self._buffers.get(channel, {}).items()):
            if one >= epoch:
                after = (one, skip)
                if skip <= len(buffers):
                    break
                skip -= len(buffers)
        return after

    def _next(self, channel: ChannelId, epoch: int, index: int) -> tuple[Buffer, tuple[int, int]] | None:
        # The epoch may have been truncated since: then the replay goes on with the first buffer of the next one.
        for one, buffers in sorted(self._buffers.get(channel, {}).items()):
            at = index if one == epoch else 0
            if one >= epoch and at < len(buffers):
                return buffers[at], (one, at + 1)
        return None

    def truncate(self, before_epoch: int) -> None:
        """Forgets every buffer of the epochs before this one."""
        for epochs in self._buffers.values():
            for epoch in [one for one in epochs if one < before_epoch]:
                del epochs[epoch]
