"""A main thread in virtual time: when it takes a buffer, how many records it processes at once, when it must wait."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from replay.model import Record
from replay.recovery import MainLogUsedUp

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class MainThread:
    """Drives the body of an attempt. Records are processed at the end of the time that they cost."""

    def __init__(self, attempt: Attempt):
        self.attempt = attempt
        self._scheduled = False
        self._token = 0
        self._interruptions: deque[str] = deque()
        # After an interruption that filled its outputs an element comes first: timers always due starve nobody.
        self._owes_element = False
        self._planned = 0
        self._batch_us = 0
        self._batch_first = 0
        self._appended = 0
        self._was_replaying = False
        # What was read of the partition and is not recorded yet.
        self._unrecorded: deque[Record] = deque()

    def start(self) -> None:
        """Begins to execute: with what the returned log pins to the very beginning."""
        self._was_replaying = self.attempt.body.replaying
        self.attempt.body.start()
        self.settle()

    def now_us(self) -> int:
        """The time inside of a batch: each record has its own."""
        if not self._planned:
            return self.attempt.engine.scheduler.now_us
        done = self.attempt.body.processed - self._batch_first
        return self._batch_us + done * self.attempt.engine.costs.record_us

    def wake(self) -> None:
        """Something changed: goes on if it waited."""
        if not self._scheduled and self.attempt.executing:
            self._after(self.attempt.engine.costs.take_us)

    def interrupt(self, callback: str) -> None:
        """A timer is due: it fires when the element that is being processed is done, unless a receiver is full."""
        self._interruptions.append(callback)
        scheduler = self.attempt.engine.scheduler
        if self._planned:
            self._shorten_batch(scheduler.now_us)
        else:
            self._run_at(scheduler.now_us)

    def _shorten_batch(self, now_us: int) -> None:
        record_us = self.attempt.engine.costs.record_us
        begun = -(-(now_us - self._batch_us) // record_us) if record_us else self._planned
        begun = max(int(self._owes_element), begun)
        if begun < self._planned:
            self._planned = begun
            self._run_at(self._batch_us + begun * record_us)

    def _after(self, delay_us: float) -> None:
        scheduler = self.attempt.engine.scheduler
        self._run_at(scheduler.now_us + scheduler.around(delay_us))

    def _run_at(self, t_us: int) -> None:
        """In place of whatever it waited for until now."""
        self._scheduled = True
        self._token += 1
        token = self._token
        self.attempt.engine.scheduler.at(t_us, lambda: self._run(token))

    def _run(self, token: int) -> None:
        if token != self._token:
            return
        self._scheduled = False
        if not self.attempt.executing:
            return
        if self._planned:
            self._process()
            self._planned = 0
            self._owes_element = False
            self.settle()
        if self.attempt.executing:
            self._plan()

    def settle(self) -> None:
        """After anything that the body did: the log may be used up, the outputs may have something to cut."""
        attempt = self.attempt
        if self._was_replaying and not attempt.body.replaying:
            self._was_replaying = False
            attempt.handle(MainLogUsedUp())
        for output in attempt.outputs:
            output.wake()

    # --- what next ---

    def _plan(self) -> None:
        if not self._owes_element:
            self._fire_timers()
        self._plan_elements()
        if self._owes_element and not self._planned and not self._held_back:
            self._owes_element = False  # there is none yet
            self._fire_timers()
            if not self._scheduled:
                self._plan_elements()

    def _fire_timers(self) -> None:
        while self._interruptions and self.attempt.settled and not self._held_back:
            self.attempt.timers.fire(self._interruptions.popleft())
            self.settle()
            self._owes_element = self._held_back

    def _plan_elements(self) -> None:
        attempt, body = self.attempt, self.attempt.body
        if self._held_back or not attempt.executing:
            return
        if not body.pending_elements:
            if attempt.partition is not None:
                self._read_partition()
            else:
                self._take()
        if body.pending_elements and not self._scheduled:
            self._plan_batch(body.pending_elements)

    @property
    def _held_back(self) -> bool:
        return any(output.holds_back_main for output in self.attempt.outputs)

    def _plan_batch(self, pending: int) -> None:
        engine = self.attempt.engine
        self._planned = min(pending, 1 + int(engine.scheduler.random.random() * engine.costs.batch_records))
        self._batch_us = engine.scheduler.now_us + (self._append_us() if engine.costs.append_us else 0)
        self._batch_first = self.attempt.body.processed
        # Not drawn around its mean: the records' own times must fit into it.
        self._run_at(self._batch_us + self._planned * engine.costs.record_us)

    def _append_us(self) -> int:
        """What was logged since the last batch takes its time before the next."""
        appended, before = sum(self.attempt.causal.appended), self._appended
        self._appended = appended
        return round((appended - before) * self.attempt.engine.costs.append_us)

    def _take(self) -> None:
        attempt, body = self.attempt, self.attempt.body
        i = body.next_input(attempt.engine.scheduler.choose)
        if i is None:
            return
        attempt.take(i)
        self.settle()
        if not body.pending_elements and attempt.executing:
            self._after(attempt.engine.costs.take_us)

    def _read_partition(self) -> None:
        attempt, engine = self.attempt, self.attempt.engine
        partition, offset = attempt.partition, attempt.body.source_offset
        if partition is None or offset >= partition.records:
            return
        if attempt.fenced and not engine.in_flight:
            return  # what it reads now its successor would not read again, and nobody would be sent it
        there = partition.there_at(engine.scheduler.now_us)
        if there <= offset:
            self._run_at(partition.arrival_us(offset))
            return
        end = min(there, offset + engine.costs.batch_records)
        records = [partition.record(one) for one in range(offset, end)]
        attempt.body.feed_source(records)
        self._unrecorded.extend(records)

    def _process(self) -> None:
        attempt, body = self.attempt, self.attempt.body
        left = self._planned
        while left and body.pending_elements:
            # One by one where each may end its epoch: a source's records are filed by the epoch that they belong to.
            step = 1 if body.replaying else left
            if attempt.partition is not None:
                self._record_source(step)
            left -= body.process(step)

    def _record_source(self, step: int) -> None:
        attempt, engine, epoch = self.attempt, self.attempt.engine, self.attempt.body.epoch
        offset, t_us = attempt.body.source_offset, self.now_us()
        for _ in range(min(step, len(self._unrecorded))):
            attempt.recorder.source(epoch, offset, t_us, self._unrecorded.popleft())
            engine.source_read(attempt.task, offset, t_us)
            offset, t_us = offset + 1, t_us + engine.costs.record_us
