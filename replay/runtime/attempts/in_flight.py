"""An attempt's in-flight log in virtual time: its pool of buffers, what is spilled, and what is read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from replay.errors import PoolExhausted
from replay.log.in_flight import InFlightLog, Kept, Replay
from replay.log.spill_policies import SPILL_POLICIES
from replay.model import ChannelId
from replay.runtime.attempts.disk import Disk
from replay.runtime.body.output import Cut

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.attempts.output_thread import OutputThread


class InFlight:
    """A buffer that is cut passes into the log, and takes a free one out of the pool in exchange.

    Where none is free the output threads wait, and then the main thread; a completed checkpoint or a written buffer
    gives some back. Events take nothing from the pool, as they are no network buffers, and stay in memory.
    """

    def __init__(self, attempt: Attempt):
        engine = attempt.engine
        self.attempt = attempt
        self.policy = SPILL_POLICIES[engine.run_of.manifest.protocol.spill]
        self.memory = engine.run_of.memory
        self.pool_buffers = self.memory.in_flight_pool(spills=self.policy.spills)
        self.used = 0
        self.totals = engine.totals.logs
        self.files = engine.spill_files
        self.disk = Disk(engine.scheduler, engine.costs)
        self.log: InFlightLog[Cut] = InFlightLog()
        self._k = {one.channel: k for k, one in enumerate(attempt.shape.outputs)}
        self._resident: dict[Kept[Cut], None] = {}
        self._checking = False
        self._closed = False
        self._waiting_since_us: int | None = None

    # --- keeping ---

    def keep(self, channel: ChannelId, cut: Cut) -> None:
        """A buffer leaves: it is kept until a checkpoint completes that covers it."""
        kept = self.log.append(channel, cut.epoch, cut, len(cut.payload))
        if cut.is_event:
            return
        self.used += 1
        if self.used > self.totals.in_flight_buffers:
            self.totals.in_flight_buffers = self.used
        if self.pool_buffers is None or not self.policy.spills:
            return
        if self.policy.at_once(len(self._resident) + 1, self.pool_buffers, self.memory.spill_threshold):
            self._spill((kept,))
            return
        self._resident[kept] = None
        if self.policy.checked and self._runs_short:
            self._check_soon()

    def kept_since(self, channel: ChannelId, epoch: int) -> int:
        """How many buffers of this epoch and later ones are kept."""
        return self.log.kept_since(channel, epoch)

    def truncate(self, before_epoch: int) -> None:
        """A checkpoint completed: what it covers is needed no more."""
        gone = self.log.truncate(before_epoch)
        for name in dict.fromkeys(self.file_of(kept) for kept in gone if kept.place is not None):
            self.files.drop(name)
        for kept in gone:
            self._resident.pop(kept, None)
        self._release(sum(1 for kept in gone if kept.place is None and not kept.buffer.is_event))

    def close(self) -> None:
        """The attempt is over: its files go with it."""
        self._closed = True
        self._stop_waiting()
        for name in dict.fromkeys(self.file_of(kept) for kept in self.log.all() if kept.place is not None):
            self.files.drop(name)

    def file_of(self, kept: Kept[Cut]) -> str:
        """One per attempt, channel and epoch: truncation deletes it whole."""
        return f"{self.attempt.serial}-out-{self._k[kept.channel]}-{kept.epoch}.spill"

    # --- waiting for room ---

    def has_room(self) -> bool:
        """Whether a buffer may be cut; whoever is told that it may not is woken when it may."""
        if self.pool_buffers is None or self.used < self.pool_buffers:
            return True
        if self._waiting_since_us is None:
            self._waiting_since_us = self.attempt.engine.scheduler.now_us
            self.totals.stalls += 1
            if not self.policy.spills:
                self._watch_for_the_end()
        return False

    def _release(self, buffers: int) -> None:
        self.used -= buffers
        if buffers and self._stop_waiting() and self.attempt.executing:
            for output in self.attempt.outputs:
                output.wake()
            self.attempt.main.wake()

    def _stop_waiting(self) -> bool:
        if self._waiting_since_us is None:
            return False
        self.totals.stalled_us += self.attempt.engine.scheduler.now_us - self._waiting_since_us
        self._waiting_since_us = None
        return True

    def _watch_for_the_end(self) -> None:
        """Without spilling only a checkpoint frees buffers: where none can any more, the job would wait for ever."""

        def look() -> None:
            if self._closed or self._waiting_since_us is None:
                return
            if not self._may_be_freed():
                raise self._exhausted()
            self.attempt.engine.scheduler.at(self.attempt.engine.scheduler.now_us + 50_000, look)

        look_us = self.attempt.engine.scheduler.now_us + 1
        self.attempt.engine.scheduler.at(look_us, look)

    def _may_be_freed(self) -> bool:
        engine = self.attempt.engine
        oldest = min(kept.epoch for kept in self.log.all() if not kept.buffer.is_event)
        # A checkpoint whose barrier still waits behind what can't be cut can't complete.
        cut_upto = min(writer.head_epoch for writer in self.attempt.body.writers)
        return engine.checkpoints.may_cover(oldest, cut_upto) or not engine.failures.quiet

    def _exhausted(self) -> PoolExhausted:
        epochs = sorted({kept.epoch for kept in self.log.all() if not kept.buffer.is_event})
        held = f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"
        return PoolExhausted(
            f"the in-flight pool of {self.attempt.task} is full: its {self.pool_buffers} buffers hold what was sent "
            f"in {held}, under the policy {self.policy.name} nothing is spilled, and no checkpoint can complete "
            "before more is sent",
            task=self.attempt.task,
            pool="in-flight",
            remedy="Make the pool larger than an epoch, complete checkpoints more often, "
            "or spill: eager, availability or oldest",
        )

    # --- spilling ---

    @property
    def _runs_short(self) -> bool:
        size = self.pool_buffers or 0
        return size - self.used <= self.memory.spill_threshold * size

    def _check_soon(self) -> None:
        # Looked at in fixed intervals, but only where there is something to see.
        if not self._checking:
            self._checking = True
            interval_us, scheduler = self.memory.spill_interval_us, self.attempt.engine.scheduler
            scheduler.at((scheduler.now_us // interval_us + 1) * interval_us, self._check)

    def _check(self) -> None:
        self._checking = False
        if not self._closed and self._runs_short:
            waiting, self._resident = list(self._resident), {}
            # Channel by channel: what is written one behind the other costs one seek.
            self._spill(sorted(waiting, key=lambda kept: (kept.channel, kept.epoch)))

    def _spill(self, buffers: Iterable[Kept[Cut]]) -> None:
        for kept in buffers:
            self.disk.write(self.file_of(kept), kept.size_bytes, lambda kept=kept: self._written(kept))  # type: ignore[misc]

    def _written(self, kept: Kept[Cut]) -> None:
        if kept.dropped or self._closed:
            return
        kept.place = self.files.append(self.file_of(kept), kept.buffer.payload)
        kept.buffer = replace(kept.buffer, payload=b"")
        self.totals.spilled_buffers += 1
        self.totals.spilled_bytes += kept.size_bytes
        self._release(1)

    # --- replaying ---

    def replay(self, output: OutputThread, epoch: int, skip: int) -> InFlightReplay:
        """The channel's buffers from that epoch on, without the first `skip` of it."""
        return InFlightReplay(self, self.log.replay(output.channel, epoch, skip), output)

    @property
    def closed(self) -> bool:
        """Whether the attempt is over."""
        return self._closed


class InFlightReplay:
    """Gives buffers in order, whether they are in memory or on disk; reads ahead what is on disk."""

    def __init__(self, in_flight: InFlight, cursor: Replay[Cut], output: OutputThread):
        self._in_flight = in_flight
        self._cursor = cursor
        self._output = output
        self._read: dict[Kept[Cut], bytes] = {}
        self._reading: set[Kept[Cut]] = set()

    @property
    def ended(self) -> bool:
        """Whether everything that is in the log was given."""
        return self._cursor.head is None

    def ready(self) -> Cut | None:
        """The next buffer; None at the end, or while it is read from disk: then its output thread is woken."""
        head = self._cursor.head
        if head is None:
            return None
        if self._in_flight.policy.spills:
            self._read_ahead()
        if head.place is None:
            return head.buffer
        data = self._read.get(head)
        return None if data is None else replace(head.buffer, payload=data)

    def advance(self) -> None:
        """The buffer was sent."""
        head = self._cursor.head
        if head is not None:
            self._read.pop(head, None)
        self._cursor.advance()

    def _read_ahead(self) -> None:
        in_flight = self._in_flight
        for kept in [one for one in self._read if one.dropped]:
            del self._read[kept]
        room = max(1, in_flight.memory.prefetch_buffers)
        for position, kept in enumerate(self._cursor.ahead()):
            if position >= room or len(self._read) + len(self._reading) >= room:
                break
            if kept.place is not None and kept not in self._read and kept not in self._reading:
                self._reading.add(kept)
                name = in_flight.file_of(kept)
                in_flight.disk.read(name, kept.size_bytes, lambda kept=kept: self._arrived(kept))  # type: ignore[misc]
        held = len(self._read) + len(self._reading)
        in_flight.totals.prefetch_buffers = max(in_flight.totals.prefetch_buffers, held)

    def _arrived(self, kept: Kept[Cut]) -> None:
        self._reading.discard(kept)
        in_flight = self._in_flight
        if kept.dropped or in_flight.closed or kept.place is None or not self._output.replays(self):
            return
        self._read[kept] = in_flight.files.read(in_flight.file_of(kept), kept.place, kept.size_bytes)
        in_flight.totals.reloaded_buffers += 1
        in_flight.totals.reloaded_bytes += kept.size_bytes
        self._output.wake()
