"""The body of a task: all that follows from its inputs and its choices. The engine and the debugger both drive it.

It knows no time, no network and no failure. Its driver offers buffers to the gate, says when the next one is taken and
how many elements are processed, and cuts the outputs; what the body does then is the same in every execution that is
given the same buffers and the same choices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from replay.errors import InvariantError, check
from replay.log.determinants import BufferBuilt, Determinant, IgnoreCheckpoint, Order, SourceCheckpoint
from replay.model import MAIN, Graph, Record, TaskId, Thread, thread_of_output
from replay.runtime.gate import InputGate
from replay.runtime.operators import Operator
from replay.runtime.output import Cut, OutputWriter
from replay.runtime.partition import partitions
from replay.runtime.records import RecordReader, record_bytes
from replay.services import CausalClock, Choices, Cursor, ExternalCalls, RandomPerCall, Wall

Append = Callable[[Thread, Determinant, int], object]
State = dict[str, Any]


class Driver(Protocol):
    """What a body tells whoever drives it."""

    def wrote(self, record: Record) -> None:
        """A sink gave a record to the outside world."""

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""

    def snapshot_taken(self, checkpoint: int, state: State) -> None:
        """A snapshot is complete: the main thread took it, and every output thread has cut the barrier since."""


class BodyObserver(Protocol):
    """Follows what a body does, step by step; the debugger's way in."""

    def taking(self, i: int, seq: int) -> None:
        """A buffer of input `i` is about to be taken."""

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed, as the so-and-so-many-th element of its epoch."""

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed."""

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written to output `k`."""

    def snapshotting(self, checkpoint: int, state: State) -> None:
        """The main thread took a snapshot; `outputs` in it are filled in as the barriers are cut."""


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
        self.options: Mapping[str, Any] = graph.vertex_of(task).options
        self.operator = operator
        self.driver = driver
        self.observer: BodyObserver | None = None
        self.gate = InputGate(self.shape.inputs)
        self._readers = tuple(RecordReader(channel) for channel in self.shape.inputs)
        self._partitions = partitions(graph, task)
        self._append = append
        append_main = None if append is None else lambda determinant, epoch: append(MAIN, determinant, epoch)
        self.choices = Choices(append_main, cursor=Cursor(main_logs or {}), epoch=checkpoint)
        self.clock = CausalClock(self.choices, wall)
        self.random = RandomPerCall(self.choices, wall)
        self._external = ExternalCalls(self.choices, wall)
        self.origin = ""
        self.watermark_ms: int | None = None
        self.record_count = 0
        self.processed = 0
        self.emitted = 0
        self.source_offset = 0
        self._elements: deque[Record] = deque()
        self._lineage: tuple[tuple[str, int], ...] | None = None
        self._barriers: dict[int, int] = {}
        self._ignored: set[int] = set()
        self._snapshots: dict[int, tuple[State, set[int]]] = {}
        self._restore(state or {})

    def _restore(self, state: Mapping[str, Any]) -> None:
        inputs, outputs = state.get("inputs", {}), state.get("outputs", {})
        self.input_seqs = [int(inputs.get(channel, 0)) for channel in self.shape.inputs]
        self.writers = tuple(
            OutputWriter(epoch=self.epoch, next_seq=int(outputs.get(one.channel, 0))) for one in self.shape.outputs
        )
        self.source_offset = int(state.get("source", {}).get("offset", 0))
        self.operator.open(self)
        if "operator" in state:
            self.operator.restore(state["operator"])

    # --- where it stands ---

    @property
    def epoch(self) -> int:
        """The epoch that the main thread is in."""
        return self.choices.epoch

    @property
    def replaying(self) -> bool:
        """Whether the main thread still follows a returned log."""
        return self.choices.replaying

    @property
    def pending_elements(self) -> int:
        """How many records of the buffer taken last were not processed yet."""
        return len(self._elements)

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
        raise cursor.divergence(self.epoch, "the next buffer's channel")

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
            self._take_barrier(i, arrived.barrier)
        else:
            if len(self.shape.inputs) > 1:
                self.choices.sync(Order, lambda: Order(i))
            if not arrived.is_event:
                self._elements.extend(self._readers[i].feed(arrived.payload))
        self.fire_due()
        return arrived.tag

    def feed_source(self, records: Sequence[Record]) -> None:
        """The next records of the source's partition, from `source_offset` on."""
        self._elements.extend(records)

    def drop_partial_record(self, i: int) -> None:
        """The sender of input `i` begins a new record with its next buffer."""
        self._readers[i].reset()

    # --- records ---

    def process(self, limit: int) -> int:
        """Processes the next elements, at most so many; returns how many."""
        done = 0
        while self._elements and done < limit:
            record = self._elements.popleft()
            self.record_count += 1
            if self.observer is not None:
                self.observer.delivering(record, self.record_count)
            if not self.shape.inputs:
                record = Record(record.key, record.timestamp, record.value, ((self.task, self.source_offset),))
                self.source_offset += 1
            self._lineage = record.lineage
            self.operator.on_record(record, self)
            done += 1
            self.processed += 1
            if self.choices.replaying:
                self.fire_due()
        return done

    def emit(self, record: Record) -> None:
        """Writes a record to the outputs that its edges choose; without a lineage of its own it has its input's."""
        if record.lineage is None and self._lineage is not None:
            record = Record(record.key, record.timestamp, record.value, self._lineage)
        self.emitted += 1
        data = record_bytes(record)
        for partition in self._partitions:
            for k in partition.of(record):
                if self.observer is not None:
                    self.observer.writing(k, record, data)
                self.writers[k].write(data)

    def write(self, record: Record) -> None:
        """Gives a record to the outside world."""
        if record.lineage is None and self._lineage is not None:
            record = Record(record.key, record.timestamp, record.value, self._lineage)
        self.emitted += 1
        self.driver.wrote(record)

    def external(self, call: str, request: Any, *, effect: str = "read") -> Any:
        """Asks the outside world."""
        return self._external.ask(call, request, effect)

    def set_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = "processing"
    ) -> None:
        """Timers follow."""
        raise InvariantError("timers are not built in yet")

    def cancel_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = "processing"
    ) -> None:
        """Timers follow."""

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
                self._ignore(determinant.checkpoint)
            else:
                cursor = self.choices.cursor
                check(cursor is not None, "a due determinant comes from a cursor")
                raise cursor.divergence(self.epoch, "a timer that was never set")  # type: ignore[union-attr]

    def trigger_checkpoint(self, checkpoint: int, timestamp_ms: int) -> None:
        """A source is told, between two records, to begin a checkpoint."""
        check(not self.replaying, "a source that replays takes its checkpoints from the log")
        check(checkpoint > self.epoch, f"checkpoint {checkpoint} comes after epoch {self.epoch}")
        reference = f"checkpoints/{checkpoint}".encode()
        self.choices.append(SourceCheckpoint(self.record_count, checkpoint, timestamp_ms, "checkpoint", reference))
        self._checkpoint(checkpoint)

    def ignore_checkpoint(self, checkpoint: int) -> bool:
        """The task is told, between two elements, to let a checkpoint go; False where it is too late for that."""
        if checkpoint <= self.epoch or checkpoint in self._ignored:
            return False
        self.choices.append(IgnoreCheckpoint(self.record_count, checkpoint))
        self._ignore(checkpoint)
        return True

    def _ignore(self, checkpoint: int) -> None:
        self._ignored.add(checkpoint)
        for i in [i for i, barrier in self._barriers.items() if barrier == checkpoint]:
            self._unblock(i)

    # --- barriers ---

    def _take_barrier(self, i: int, checkpoint: int) -> None:
        if checkpoint <= self.epoch or checkpoint in self._ignored:
            return
        self._barriers[i] = checkpoint
        self.gate.blocked.add(i)
        newest = max(self._barriers.values())
        # A channel that went on to a later barrier never brings the earlier one: that checkpoint can't be aligned here.
        for j in [j for j, barrier in self._barriers.items() if barrier < newest]:
            self._unblock(j)
        if len(self._barriers) == len(self.shape.inputs):
            self._checkpoint(newest)

    def _unblock(self, i: int) -> None:
        del self._barriers[i]
        self.gate.blocked.discard(i)

    def _checkpoint(self, checkpoint: int) -> None:
        for writer in self.writers:
            writer.write_barrier(checkpoint)
        self._snapshot(checkpoint)
        self._barriers.clear()
        self.gate.blocked.clear()
        self._ignored = {one for one in self._ignored if one > checkpoint}
        self.choices.epoch = checkpoint
        self.record_count = 0
        self.driver.epoch_started(checkpoint)
        self.fire_due()

    def _snapshot(self, checkpoint: int) -> None:
        state: State = {
            "operator": self.operator.snapshot(),
            "timers": [],
            "watermarks": {},
            "idle": {},
            "inputs": dict(zip(self.shape.inputs, self.input_seqs, strict=True)),
            "outputs": {one.channel: None for one in self.shape.outputs},
            "source": {} if self.shape.inputs else {"offset": self.source_offset},
            "services": {},
            "transactions": [],
        }
        self._snapshots[checkpoint] = (state, set(range(len(self.writers))))
        if self.observer is not None:
            self.observer.snapshotting(checkpoint, state)
        self._complete_snapshot(checkpoint)

    def _complete_snapshot(self, checkpoint: int) -> None:
        state, missing = self._snapshots[checkpoint]
        if not missing:
            del self._snapshots[checkpoint]
            self.driver.snapshot_taken(checkpoint, state)

    # --- outputs ---

    def cut(self, k: int, size: int) -> Cut:
        """Cuts a buffer of exactly `size` bytes off output `k` and appends that choice to its output thread's log."""
        cut = self.writers[k].cut(size)
        if self._append is not None:
            self._append(thread_of_output(k), BufferBuilt(size), cut.epoch)
        if cut.barrier is not None:
            state, missing = self._snapshots[cut.barrier]
            state["outputs"][self.shape.outputs[k].channel] = cut.seq + 1
            missing.discard(k)
            self._complete_snapshot(cut.barrier)
        return cut
