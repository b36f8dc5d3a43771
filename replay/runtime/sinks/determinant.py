"""The sink whose world keeps determinants: every write carries what makes it stable, and goes out at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replay.bundle.frames import SendingFrame
from replay.log.deltas import encode_flat, encode_grouping
from replay.model import Record
from replay.runtime.outside.world import world_channel
from replay.runtime.sinks.base import Sink

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class DeterminantSink(Sink):
    """Exactly once without waiting: a recovery follows what the world returns, and what it wrote is not written again.

    The world is to the sink what a receiver is to an output thread: it knows how much it got, and holds the choices
    that led to it. At sharing depth 0 there are no determinants, and the writes are those of a plain sink.
    """

    def __init__(self, attempt: Attempt):
        super().__init__(attempt)
        self._channel = world_channel(attempt.task)
        self._held_back = 0
        self._writes = 0

    @property
    def settled(self) -> bool:
        """Whether every write that the world has was made again."""
        return not self._held_back

    def restore(self, transactions: Sequence[dict[str, Any]]) -> None:
        """What the world took since the checkpoint is to be made again, and held back."""
        attempt, engine = self.attempt, self.attempt.engine
        if not engine.logging:
            return
        engine.world.meets(attempt)
        attempt.causal.register_consumer(self._channel, attempt.checkpoint)
        if not attempt.diverged:
            self._held_back = engine.world.accepted(attempt.task, attempt.checkpoint)

    def write(self, record: Record) -> None:
        """Out at once, with every determinant that the world has not been given; or held back."""
        attempt, world = self.attempt, self.attempt.engine.world
        if self._held_back:
            self._held_back -= 1
            if not self._held_back:
                attempt.tell_when_settled()
            return
        if world.refuses(attempt):
            return
        epoch, now_us = attempt.body.epoch, attempt.main.now_us()
        if attempt.engine.logging:
            self._leave_determinants(epoch, now_us)
        world.accept(attempt, epoch)
        self._accepted(epoch, now_us, record)
        self._visible(record, now_us)

    def _leave_determinants(self, epoch: int, now_us: int) -> None:
        attempt, engine = self.attempt, self.attempt.engine
        entries = engine.losses.shared(attempt.causal.delta_for(self._channel))
        encode = encode_flat if engine.graph.manifest.protocol.delta_layout == "flat" else encode_grouping
        delta = encode(entries, engine.log_ids)
        attempt.recorder.world(epoch, SendingFrame(self._writes, now_us, 0, 0, 0, delta))
        self._writes += 1
        engine.totals.world_bytes += len(delta)
        engine.world.keep(entries, self._channel)

    def completed(self, checkpoint: int, re: int | None) -> None:
        """The world forgets what nobody will ask for; the recording keeps it."""
        self.attempt.engine.world.truncate(checkpoint)
