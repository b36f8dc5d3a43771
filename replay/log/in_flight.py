"""The in-flight log: buffers sent, by channel and epoch, kept for a receiver that may fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from replay.errors import check
from replay.model import ChannelId

Buffer = TypeVar("Buffer")


class Kept(Generic[Buffer]):
    """A buffer in the log. `place` says where its bytes stand, once they were written to a file."""

    __slots__ = ("buffer", "channel", "dropped", "epoch", "place", "size_bytes")

    def __init__(self, channel: ChannelId, epoch: int, buffer: Buffer, size_bytes: int):
        self.channel = channel
        self.epoch = epoch
        self.buffer = buffer
        self.size_bytes = size_bytes
        self.place: int | None = None
        self.dropped = False


class InFlightLog(Generic[Buffer]):
    """What a buffer is, and whether its bytes are in memory, is its user's business."""

    def __init__(self) -> None:
        self._channels: dict[ChannelId, dict[int, list[Kept[Buffer]]]] = {}

    def append(self, channel: ChannelId, epoch: int, buffer: Buffer, size_bytes: int = 0) -> Kept[Buffer]:
        """Keeps a buffer, the last of its channel so far."""
        epochs = self._channels.setdefault(channel, {})
        if epoch not in epochs:
            check(not epochs or epoch > next(reversed(epochs)), f"{channel}: epoch {epoch} comes after a later one")
            epochs[epoch] = []
        kept = Kept(channel, epoch, buffer, size_bytes)
        epochs[epoch].append(kept)
        return kept

    def count(self, channel: ChannelId, epoch: int) -> int:
        """How many buffers of exactly this epoch are kept."""
        return len(self._channels.get(channel, {}).get(epoch, ()))

    def kept_since(self, channel: ChannelId, epoch: int) -> int:
        """How many buffers of this epoch and later ones are kept."""
        return sum(len(kept) for one, kept in self._channels.get(channel, {}).items() if one >= epoch)

    def all(self) -> Iterator[Kept[Buffer]]:
        """Every buffer of every channel."""
        for epochs in self._channels.values():
            for kept in epochs.values():
                yield from kept

    def replay(self, channel: ChannelId, epoch: int, skip: int = 0) -> Replay[Buffer]:
        """Begins with the buffer behind the first `skip` ones from that epoch on."""
        return Replay(self._channels.setdefault(channel, {}), epoch, skip)

    def truncate(self, before_epoch: int) -> list[Kept[Buffer]]:
        """Forgets every buffer of the epochs before this one, and returns them."""
        gone: list[Kept[Buffer]] = []
        for epochs in self._channels.values():
            for epoch in [one for one in epochs if one < before_epoch]:
                gone += epochs.pop(epoch)
        for kept in gone:
            kept.dropped = True
        return gone


class Replay(Generic[Buffer]):
    """A cursor over one channel's buffers, also those appended or truncated while it runs."""

    __slots__ = ("_epoch", "_epochs", "_index")

    def __init__(self, epochs: dict[int, list[Kept[Buffer]]], epoch: int, skip: int):
        self._epochs = epochs
        self._epoch, self._index = epoch, skip
        # `skip` may reach past its epoch: it counts the buffers from the epoch that is asked for.
        for one, kept in epochs.items():
            if one >= epoch:
                self._epoch, self._index = one, skip
                if skip <= len(kept):
                    break
                skip -= len(kept)

    @property
    def head(self) -> Kept[Buffer] | None:
        """The buffer that is next; None where there is none, until one is appended."""
        return next(self.ahead(), None)

    def advance(self) -> None:
        """The next buffer is the one behind the head."""
        head = self.head
        if head is not None:
            if head.epoch != self._epoch:
                self._epoch, self._index = head.epoch, 0
            self._index += 1

    def ahead(self) -> Iterator[Kept[Buffer]]:
        """The head and all that stand behind it."""
        # Its epoch may have been truncated since: then the first buffer of the next one is the head.
        for epoch, kept in self._epochs.items():
            if epoch >= self._epoch:
                start = self._index if epoch == self._epoch else 0
                for index in range(start, len(kept)):
                    yield kept[index]
