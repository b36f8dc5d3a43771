"""What changed of many logs, and how far each consumer was sent them: a delta costs what is new, not what is held."""

from __future__ import annotations

from collections.abc import Callable

from replay.log.deltas import DeltaEntry
from replay.log.thread_log import ThreadLog
from replay.model import LogId

Pair = tuple[LogId, int]
"""A log and an epoch."""


class Journal:
    """Which epochs of which logs grew, each once, in the order of their last growth."""

    __slots__ = ("_changed", "version")

    def __init__(self) -> None:
        self.version = 0
        self._changed: dict[Pair, int] = {}

    def grew(self, log: LogId, epoch: int) -> None:
        """Bytes were added there."""
        self.version += 1
        pair = (log, epoch)
        self._changed.pop(pair, None)  # so that it stands last
        self._changed[pair] = self.version

    def since(self, version: int) -> list[Pair]:
        """What grew after that version, the earliest first."""
        found = []
        for pair, changed in reversed(self._changed.items()):
            if changed <= version:
                break
            found.append(pair)
        found.reverse()
        return found

    def forget(self, which: Callable[[LogId, int], bool]) -> None:
        """These epochs are gone."""
        for pair in [one for one in self._changed if which(*one)]:
            del self._changed[pair]


class Consumer:
    """How far a receiver's attempt was sent every log, as offsets from the epochs' starts."""

    __slots__ = ("_own", "_sent", "from_epoch", "seen")

    def __init__(self, from_epoch: int):
        self.from_epoch = from_epoch
        self.seen = 0
        self._sent: dict[Pair, int] = {}
        self._own: dict[LogId, int] = {}

    def unsent(self, log: LogId, epoch: int, held: ThreadLog) -> DeltaEntry | None:
        """What it was not sent of an epoch; from now on it counts as sent."""
        if epoch < self.from_epoch:
            return None
        pair = (log, epoch)
        sent = self._sent.get(pair, 0)
        end = held.length_of(epoch)
        if end <= sent:
            return None
        self._sent[pair] = end
        return DeltaEntry(log, epoch, sent, held.bytes_of(epoch, sent, end))

    def unsent_own(self, log: LogId, held: ThreadLog) -> list[DeltaEntry]:
        """As `unsent`, of all epochs of a log that no journal follows, since it grows with every choice."""
        if self._own.get(log) == held.appended_bytes:
            return []
        self._own[log] = held.appended_bytes
        found = (self.unsent(log, epoch, held) for epoch in held.epochs)
        return [one for one in found if one is not None]

    def forget(self, which: Callable[[LogId, int], bool]) -> None:
        """These epochs are gone."""
        for pair in [one for one in self._sent if which(*one)]:
            del self._sent[pair]
