"""The body of a task: all that follows from its inputs and its choices. The engine and the debugger both drive it.

It knows no time, no network and no failure. Its driver offers buffers to the gate, says when the next one is taken, how
many elements are processed and which timer fires, and cuts the outputs; what the body does then is the same in every
execution that is given the same buffers and the same choices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from replay.errors import InvariantError, check
from replay.log.determinants import BufferBuilt, Determinant, IgnoreCheckpoint, Order, SourceCheckpoint, TimerTrigger
from replay.model import MAIN, Graph, Record, TaskId, Thread, thread_of_output
from replay.runtime.body.barriers import Alignment, Snapshots, State
from replay.runtime.body.drivers import BodyObserver, Driver
from replay.runtime.body.event_time import EventTime, SourceTime
from replay.runtime.body.gate import InputGate
from replay.runtime.body.output import Cut, OutputWriter
from replay.runtime.body.partition import partitions
from replay.runtime.body.records import RecordReader, record_bytes
from replay.runtime.body.services import TaskServices
from replay.runtime.body.timers import CLOCK_CALLBACK, Timers
from replay.runtime.operators import Lineage, Operator, Timer
from replay.runtime.operators.base import PROCESSING
from replay.services import Choices, Cursor, Wall

Append = Callable[[Thread, Determinant, int], object]


class TaskBody:
    """One execution of a task, from a checkpoint on. Also the context that its operator is given."""

    def __init__(
        self,
        graph: Graph,
        task: str,
        operator: Operator,
        *,
        driver: Driver,
        wall: Wall,
        append: Append | None,
        checkpoint: int = 0,
        state: Mapping[str, Any] | None = None,
        main_logs: Mapping[int, bytes] | None = None,
    ):
        """`append` None logs nothing; `state` None is the initial one; `main_logs`: the returned main log, by epoch."""
        self.shape = graph.task(task)
        self.task: TaskId = self.shape.id
        vertex = graph.vertex_of(task)
        self.options: Mapping[str, Any] = vertex.options
        self.operator = operator
        self.driver = driver
        self.observer: BodyObserver | None = None
        self._append = append
        append_main = None if append is None else lambda determinant, epoch: append(MAIN, determinant, epoch)
        self.choices = Choices(append_main, cursor=Cursor(main_logs or {}), epoch=checkpoint)
        self._services = TaskServices(vertex.services, vertex.id, self.choices, wall)
        self.clock = self._services.clock
        self.random = self._services.random
        self.gate = InputGate(self.shape.inputs)
        self._alignment = Alignment(self.gate)
        self._snapshots = Snapshots(driver.snapshot_taken)
        self._readers = tuple(RecordReader(channel) for channel in self.shape.inputs)
        self._origins = tuple(graph.task(graph.channel(one).source).vertex for one in self.shape.inputs)
        self._partitions = partitions(graph, task, self.random)
        self.timers = Timers(driver.timer_set)
        self._event_time = EventTime(self)
        self._source_time = None if self.shape.inputs else SourceTime(self, self.clock, self._event_time)
        self.origin = ""
        self.record_count = 0
        # At sources the record count is that of the elements emitted, elsewhere of those taken.
        self._counted_as_emitted = 0 if self.shape.inputs else 1
        self.processed = 0
        self.emitted = 0
        self.source_offset = 0
        self._elements: deque[Record] = deque()
        self._lineage: Lineage | None = None
        self._restore(state or {})

    def _restore(self, state: Mapping[str, Any]) -> None:
        inputs, outputs = state.get("inputs", {}), state.get("outputs", {})
        self.input_seqs = [int(inputs.get(channel, 0)) for channel in self.shape.inputs]
        self.writers = tuple(
            OutputWriter(epoch=self.epoch, next_seq=int(outputs.get(one.channel, 0))) for one in self.shape.outputs
        )
        source = state.get("source", {})
        self.source_offset = int(source.get("offset", 0))
        self.timers.restore(state.get("timers", ()))
        self._event_time.restore(state)
        if self._source_time is not None:
            self._source_time.restore(source)
        self.operator.open(self)
        if "operator" in state:
            self.operator.restore(state["operator"])

    def start(self) -> None:
        """Begins to execute: with what an epoch begins with, the runtime's own timers, and what the log pins there."""
        self._begin_epoch()
        periodic = self._services.periodic
        if periodic is not None and self.timers.next_ms(CLOCK_CALLBACK) is None:
            self._set_clock_timer(periodic.now_ms() + periodic.period_ms, periodic.period_ms)
        if self._source_time is not None:
            self._source_time.start()
        self.fire_due()

    def _begin_epoch(self) -> None:
        self._services.begin_epoch()
        for partition in self._partitions:
            partition.begin_epoch()

    # --- where it stands ---

    @property
    def epoch(self) -> int:
        """The epoch that the main thread is in."""
        return self.choices.epoch

    @property
    def replaying(self) -> bool:
        """Whether the main thread still follows a returned log."""
        return self.choices.cursor is not None

    @property
    def pending_elements(self) -> int:
        """How many records of the buffer taken last were not processed yet."""
        return len(self._elements)

    @property
    def watermark_ms(self) -> int | None:
        """How far event time has come here."""
        return self._event_time.watermark_ms

    # --- inputs ---

    def next_input(self, pick: Callable[[Sequence[int]], int]) -> int | None:
        """The input to take the next buffer from: as the log says, or as `pick` chooses among those that have one."""
        ready = self.gate.ready()
        if not ready:
            return None
        cursor = self.choices.cursor
        if cursor is None:
            return ready[0] if len(ready) == 1 else pick(ready)
        barrier = next((i for i in ready if self._head_barrier(i) is not None), None)
        if barrier is not None:
            return barrier
        if len(self.shape.inputs) == 1:
            return ready[0]
        following = cursor.peek(self.epoch)
        if isinstance(following, Order):
            return following.channel if following.channel in ready else None
        if following is None:  # the log goes on in a later epoch, so all that is left of this one is its barriers
            return None
        cursor.refuse(self.epoch, "the next buffer's channel")
        cursor.skip(self.epoch)
        return self.next_input(pick)

    def _head_barrier(self, i: int) -> int | None:
        head = self.gate.head(i)
        return None if head is None else head.barrier

    def take(self, i: int) -> Any:
        """Takes the next buffer of input `i`; returns the tag it was offered with."""
        check(not self._elements, "the elements of the buffer before are processed first")
        arrived = self.gate.take(i)
        if self.observer is not None:
            self.observer.taking(i, arrived.seq)
        self.input_seqs[i] = arrived.seq + 1
        if arrived.barrier is not None:
            aligned = self._alignment.take(i, arrived.barrier, self.epoch)
            if aligned is not None:
                self._checkpoint(aligned)
        else:
            if len(self.shape.inputs) > 1:
                self.choices.sync(Order, lambda: Order(i))
            if not arrived.is_event:
                self.origin = self._origins[i]
                self._elements.extend(self._readers[i].feed(arrived.payload))
            elif arrived.watermark_ms is not None:
                self.origin = ""
                self._take_watermark(i, arrived.watermark_ms)
        self.fire_due()
        return arrived.tag

    def _take_watermark(self, i: int, watermark_ms: int) -> None:
        self.record_count += 1
        if self.observer is not None:
            self.observer.taking_watermark(i, watermark_ms, self.record_count)
        self._event_time.take(i, watermark_ms)
        if self.observer is not None:
            self.observer.done()

    def feed_source(self, records: Sequence[Record]) -> None:
        """The next records of the source's partition, from `source_offset` on."""
        self._elements.extend(records)

    def drop_partial_record(self, i: int) -> None:
        """The sender of input `i` begins a new record with its next buffer."""
        self._readers[i].reset()

    # --- records ---

    def process(self, limit: int) -> int:
        """Processes the next elements, at most so many; returns how many."""
        if self.observer is None and self.choices.cursor is None and self._source_time is None:
            return self._process_live(min(limit, len(self._elements)))
        done = 0
        while self._elements and done < limit:
            record = self._elements.popleft()
            if self._source_time is None:
                self.record_count += 1
                if self.observer is not None:
                    self.observer.delivering(record, self.record_count)
                self._lineage = record.lineage
                self.operator.on_record(record, self)
            else:
                self._process_source(record, self._source_time)
            done += 1
            self.processed += 1
            if self.choices.cursor is not None:
                self.fire_due()
        return done

    def _process_live(self, count: int) -> int:
        """As `process`, where nobody watches and no log is followed: nearly always."""
        take, on_record = self._elements.popleft, self.operator.on_record
        for _ in range(count):
            record = take()
            self.record_count += 1
            self._lineage = record[3]
            on_record(record, self)
            self.processed += 1
        return count

    def _process_source(self, record: Record, source_time: SourceTime) -> None:
        timestamp = record.timestamp if source_time.plain else source_time.stamp(record.timestamp)
        lineage = ((self.task, self.source_offset),)
        self.source_offset += 1
        if self.observer is not None:
            self.observer.delivering(record, self.record_count + 1)
        before, self._lineage = self.record_count, lineage
        self.operator.on_record(Record(record.key, timestamp, record.value, lineage), self)
        if self.record_count == before:
            # A timer before this record and one after it would have one and the same record count.
            raise InvariantError(f"a source emits at least one element per record, and {self.task} did not")
        if not source_time.plain:
            source_time.processed()

    def emit(self, record: Record) -> None:
        """Writes a record to the outputs that its edges choose; without a lineage of its own it has its input's."""
        if record[3] is None and self._lineage is not None:
            record = Record(record[0], record[1], record[2], self._lineage)
        self.emitted += 1
        self.record_count += self._counted_as_emitted
        data, writers = record_bytes(record), self.writers
        for partition in self._partitions:
            for k in partition.of(record):
                if self.observer is not None:
                    self.observer.writing(k, record, data)
                writers[k].write(data)

    def write(self, record: Record) -> None:
        """Gives a record to the outside world."""
        if record[3] is None and self._lineage is not None:
            record = Record(record[0], record[1], record[2], self._lineage)
        self.emitted += 1
        self.record_count += self._counted_as_emitted
        self.driver.wrote(record)

    def forward(self, event: dict[str, object]) -> None:
        """Writes an event that is no barrier to every output."""
        for k, writer in enumerate(self.writers):
            if self.observer is not None:
                self.observer.forwarding(k, event)
            writer.write_event(event)

    def external(self, call: str, request: Any, *, effect: str = "read") -> Any:
        """Asks the outside world."""
        return self._services.external.ask(call, request, effect)

    # --- timers and watermarks ---

    def set_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = PROCESSING
    ) -> None:
        """Has the operator called at that time."""
        self.timers.set(Timer(at_ms, name, key, namespace, time))

    def cancel_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = PROCESSING
    ) -> None:
        """Takes a timer back."""
        self.timers.cancel(Timer(at_ms, name, key, namespace, time))

    def run_timers(self, queue: str, upto_ms: int) -> None:
        """The operator's timers of one queue that are due, also those that the first of them set."""
        self._lineage = None
        origin, self.origin = self.origin, ""
        while (timer := self.timers.take_due(queue, upto_ms)) is not None:
            if self.observer is not None:
                self.observer.running(timer)
            self.operator.on_timer(timer, self)
        self.origin = origin

    def run_watermark(self, watermark_ms: int) -> None:
        """The operator is told that event time has come so far."""
        self._lineage = None
        if self.observer is not None:
            self.observer.watermark_passed(watermark_ms)
        self.operator.on_watermark(watermark_ms, self)

    def fire_timer(self, callback: str) -> None:
        """The wall clock has reached the next timer of a callback, between two elements."""
        check(not self.replaying, "a task that replays takes its timers from the log")
        at_ms = self.timers.next_ms(callback)
        if at_ms is None:
            raise InvariantError(f"no timer {callback} is set")
        self.choices.append(TimerTrigger(self.record_count, at_ms, callback))
        self._fire(callback, at_ms)

    def _follow_timer(self, logged: TimerTrigger) -> None:
        at_ms, cursor = self.timers.next_ms(logged.callback), self.choices.cursor
        if cursor is not None and at_ms != logged.timestamp:
            instead = "which is not set" if at_ms is None else f"of which the next is set for {at_ms}"
            cursor.refuse(self.epoch, f"no timer {logged.callback} for {logged.timestamp}, {instead}")
        self.choices.follow(TimerTrigger)
        self._fire(logged.callback, logged.timestamp)

    def _fire(self, callback: str, at_ms: int) -> None:
        periodic = self._services.periodic
        if callback == CLOCK_CALLBACK and periodic is not None:
            self.timers.take_due(callback, at_ms)
            self._set_clock_timer(periodic.read() + periodic.period_ms, periodic.period_ms)
        elif self._source_time is None or not self._source_time.fires(callback, at_ms):
            self.run_timers(callback, at_ms)

    def _set_clock_timer(self, at_ms: int, period_ms: int) -> None:
        self.timers.set(Timer(at_ms, "time"), callback=CLOCK_CALLBACK, period_ms=period_ms)

    # --- asynchronous determinants ---

    def fire_due(self) -> None:
        """Executes what the returned log pins to this record count, also before the first record."""
        while (determinant := self.choices.due(self.record_count)) is not None:
            if self.observer is not None:
                self.observer.firing(determinant)
            if isinstance(determinant, SourceCheckpoint):
                self.choices.follow(SourceCheckpoint)
                self._checkpoint(determinant.checkpoint)
            elif isinstance(determinant, IgnoreCheckpoint):
                self.choices.follow(IgnoreCheckpoint)
                self._alignment.ignore(determinant.checkpoint)
            elif isinstance(determinant, TimerTrigger):
                self._follow_timer(determinant)
            if self.observer is not None:
                self.observer.done()

    def trigger_checkpoint(self, checkpoint: int, timestamp_ms: int) -> None:
        """A source is told, between two records, to begin a checkpoint."""
        check(not self.replaying, "a source that replays takes its checkpoints from the log")
        check(checkpoint > self.epoch, f"checkpoint {checkpoint} comes after epoch {self.epoch}")
        reference = f"checkpoints/{checkpoint}".encode()
        self.choices.append(SourceCheckpoint(self.record_count, checkpoint, timestamp_ms, "checkpoint", reference))
        self._checkpoint(checkpoint)

    def ignore_checkpoint(self, checkpoint: int) -> bool:
        """The task is told, between two elements, to let a checkpoint go; False where it is too late for that."""
        if checkpoint <= self.epoch or self._alignment.ignores(checkpoint):
            return False
        self.choices.append(IgnoreCheckpoint(self.record_count, checkpoint))
        self._alignment.ignore(checkpoint)
        return True

    # --- checkpoints ---

    def _checkpoint(self, checkpoint: int) -> None:
        for writer in self.writers:
            writer.write_barrier(checkpoint)
        self._snapshot(checkpoint)
        self._alignment.passed(checkpoint)
        self.choices.epoch = checkpoint
        self.record_count = 0
        self.driver.epoch_started(checkpoint)
        self._begin_epoch()
        self.fire_due()

    def _snapshot(self, checkpoint: int) -> None:
        watermarks, idle = self._event_time.snapshot()
        source = self._source_time
        state: State = {
            "operator": self.operator.snapshot(),
            "timers": self.timers.snapshot(),
            "watermarks": watermarks,
            "idle": idle,
            "inputs": dict(zip(self.shape.inputs, self.input_seqs, strict=True)),
            "outputs": {one.channel: None for one in self.shape.outputs},
            "source": {} if source is None else {"offset": self.source_offset, **source.snapshot()},
            "services": {},
            "transactions": self.driver.sealed(checkpoint),
        }
        if self.observer is not None:
            self.observer.snapshotting(checkpoint, state)
        self._snapshots.taken(checkpoint, state, len(self.writers))

    # --- outputs ---

    def cut(self, k: int, size: int) -> Cut:
        """Cuts a buffer of exactly `size` bytes off output `k` and appends that choice to its output thread's log."""
        cut = self.writers[k].cut(size)
        if self._append is not None:
            self._append(thread_of_output(k), BufferBuilt(size), cut.epoch)
        if cut.barrier is not None:
            self._snapshots.cut(cut.barrier, k, self.shape.outputs[k].channel, cut.seq + 1)
        return cut
