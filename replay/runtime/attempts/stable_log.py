"""A task's way to the stable storage: what an attempt logged is written there, one write at a time, all that is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from replay.bundle.frames import SendingFrame
from replay.log.deltas import DeltaEntry, encode_deltas
from replay.model import LogId, Thread
from replay.runtime.outside.world import world_channel

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class StableLog:
    """Of one attempt. Whoever waits for a write shares it with all who came before it began: a group commit."""

    def __init__(self, attempt: Attempt):
        self._attempt = attempt
        self._channel = world_channel(attempt.task)
        self._stored: dict[tuple[Thread, int], int] = {}
        self._waiting: list[Callable[[], None]] = []
        self._writing = False
        self._writes = 0

    def begin(self) -> None:
        """Execution begins: what is replayed is there already, and an older attempt writes nothing any more."""
        attempt, world = self._attempt, self._attempt.engine.world
        world.meets(attempt)
        for copy in world.held(attempt.task, attempt.checkpoint):
            self._stored[copy.log.thread, copy.epoch] = len(copy.data)

    def stored(self, thread: Thread, epoch: int) -> int:
        """How much of an epoch of a log is there, be it of attempts before."""
        return self._stored.get((thread, epoch), 0)

    @property
    def idle(self) -> bool:
        """Whether nothing waits, and nothing is on its way."""
        return not self._waiting and not self._writing

    def after_write(self, action: Callable[[], None]) -> None:
        """Does something as soon as all that was logged until now is stable; at once where it is."""
        if self.idle and not self._is_behind:
            action()
            return
        self._waiting.append(action)
        self.write()

    def write(self) -> None:
        """Begins a write of all that is new, unless one is on its way: then the next follows it."""
        if self._writing:
            return
        entries = self._unstored()
        if not entries and not self._waiting:
            return
        attempt, engine = self._attempt, self._attempt.engine
        released, self._waiting = self._waiting, []
        data = encode_deltas(entries, engine.log_ids, engine.graph.manifest.protocol.delta_layout)
        epoch = attempt.body.epoch
        self._writing = True
        note = engine.protocol.writing(attempt)
        engine.scheduler.after(
            engine.costs.storage_us(len(data)), lambda: self._written(entries, epoch, data, released, note)
        )

    def _written(
        self, entries: list[DeltaEntry], epoch: int, data: bytes, released: list[Callable[[], None]], note: Any
    ) -> None:
        attempt, engine = self._attempt, self._attempt.engine
        self._writing = False
        if not attempt.alive or engine.world.refuses(attempt):
            return  # what was under way when the attempt ended is not there
        self._keep(entries, epoch, data)
        engine.protocol.written(attempt, note)
        for action in released:
            action()
        if self._waiting:
            self.write()

    def _keep(self, entries: list[DeltaEntry], epoch: int, data: bytes) -> None:
        if not entries:
            return
        attempt, engine = self._attempt, self._attempt.engine
        attempt.recorder.world(epoch, SendingFrame(self._writes, engine.scheduler.now_us, 0, 0, 0, data))
        self._writes += 1
        engine.totals.world_bytes += len(data)
        engine.world.keep(entries, self._channel)
        for one in entries:
            self._stored[one.log.thread, one.epoch] = one.offset + len(one.data)

    def write_at_last(self, extents: Mapping[tuple[Thread, int], int]) -> int:
        """The attempt gives itself up, and keeps what it had logged until there; returns how many bytes that takes."""
        attempt, engine = self._attempt, self._attempt.engine
        entries = []
        for one in self._unstored():
            length = extents.get((one.log.thread, one.epoch), 0) - one.offset
            if length > 0:
                entries.append(DeltaEntry(one.log, one.epoch, one.offset, one.data[:length]))
        data = encode_deltas(entries, engine.log_ids, engine.graph.manifest.protocol.delta_layout)
        self._keep(entries, attempt.body.epoch, data)
        return len(data)

    def completed(self, checkpoint: int) -> None:
        """A checkpoint completed: nobody asks any more for what is older."""
        self._attempt.engine.world.truncate(checkpoint)
        self._attempt.engine.protocol.completed(self._attempt, checkpoint)
        self._stored = {key: length for key, length in self._stored.items() if key[1] >= checkpoint}

    @property
    def _is_behind(self) -> bool:
        own = self._attempt.causal.own.items()
        return any(log.length_of(one) > self._stored.get((thread, one), 0) for thread, log in own for one in log.epochs)

    def _unstored(self) -> list[DeltaEntry]:
        attempt, found = self._attempt, []
        for thread, log in attempt.causal.own.items():
            for epoch in log.epochs:
                start, end = self._stored.get((thread, epoch), 0), log.length_of(epoch)
                if end > start:
                    data = log.bytes_of(epoch, start, end)
                    found.append(DeltaEntry(LogId(attempt.task, thread), epoch, start, data))
        return sorted(found, key=lambda entry: entry.epoch)
