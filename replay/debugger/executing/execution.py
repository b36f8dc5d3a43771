"""Executes an attempt again: the same body as a live task's, fed from the recording, following a log."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from replay.debugger.diverging.adopting import AdoptingCursor
from replay.debugger.executing import partings
from replay.debugger.executing.plan import Plan, Watcher
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.cut_times import CutTimes
from replay.debugger.recorded.inputs import ChannelTakes, Taken
from replay.debugger.recorded.logs import Built, Logs, Reappended, built_buffers
from replay.errors import CorruptMember, InvariantError, ReplayError
from replay.log.determinants import Determinant
from replay.model import MAIN, Record, Thread, thread_of_output
from replay.runtime.body.gate import arrival
from replay.runtime.body.task import TaskBody
from replay.runtime.operators import Operator
from replay.services import Divergence

_SOURCE_LINES = 64


__all__ = ["Execution", "Plan", "Watcher"]


class Execution:
    """One thread of control: main and output threads take turns, outputs first."""

    def __init__(self, source: RecordingSource, plan: Plan, operator: Operator, watcher: Watcher):
        self.source = source
        self.plan = plan
        self.watcher = watcher
        self.shape = source.graph.task(plan.task)
        self.log = Reappended(plan.task, plan.logs, plan.where_at, self._differs)
        self.inputs = [
            ChannelTakes(
                source,
                plan.task,
                i,
                plan.take_from,
                _number(plan.state, "inputs", channel),
                in_time=bool(plan.begin_anew),
            )
            for i, channel in enumerate(self.shape.inputs)
        ]
        self.pending: list[deque[Built]] = [
            built_buffers(plan.logs, thread_of_output(k), plan.where) for k in range(len(self.shape.outputs))
        ]
        self.cuts = [0] * len(self.pending)
        self.stopped = False
        self.own_takes_only = False
        self._records = None if self.shape.inputs else self._partition()
        self.last_taken: Taken | None = None
        self._senders: dict[int, int] = {}
        self.cut_times = CutTimes()
        self.body = self._body(operator)
        self._adopting = self._adopt() if watcher.goes_on else None

    def _adopt(self) -> AdoptingCursor:
        """Follows the log in a way that goes on where the task asks for something else."""
        cursor = AdoptingCursor(self.plan.logs.get(MAIN, {}), lambda found: self._differs(partings.of_log(self, found)))
        self.body.choices.cursor = None if cursor.used_up else cursor
        return cursor

    def _differs(self, found: DivergenceFound) -> None:
        found.execution = self
        self.watcher.differs(found)

    def _body(self, operator: Operator) -> TaskBody:
        """An edge: a snapshot from a recording may be anything, and so may what the operator makes of it."""
        plan = self.plan
        try:
            return TaskBody(
                self.source.graph,
                plan.task,
                operator,
                driver=self,
                wall=self,
                append=self._append,
                checkpoint=plan.checkpoint,
                state=plan.state,
                main_logs=dict(plan.logs.get(MAIN, {})),
            )
        except ReplayError as fault:
            raise Missing(f"{plan.task} can't be executed here: {fault}") from None
        except (Exception, SystemExit) as fault:
            partings.check_machine(fault)
            raise partings.of_snapshot(plan, fault) from fault

    # --- what the body tells and asks ---

    def _append(self, thread: Thread, determinant: Determinant, epoch: int) -> None:
        if self._adopting is None or self._adopting.counts(self.log, thread, determinant, epoch):
            self.log.append(thread, determinant, epoch)

    def now_ms(self) -> int:
        """The world is asked only where the log has no answer: that is a divergence."""
        self._past_the_log("a timestamp determinant")
        return self._adopting.last_ms if self._adopting is not None else 0

    def random_int32(self) -> int:
        """As `now_ms`."""
        self._past_the_log("an rng determinant")
        return 0

    def external(self, call: str, request: Any, effect: str) -> Any:
        """As `now_ms`: nothing outside is asked again."""
        self._past_the_log(f"the external call {call!r} with effect {effect}")
        return None

    def _past_the_log(self, asked: str) -> None:
        """Raises, unless the replay goes on: then the task is given something, of which nothing is claimed."""
        epoch = self.body.epoch
        found = Divergence(
            asked=asked,
            logged="nothing more",
            thread=MAIN,
            epoch=epoch,
            offset=self.log.length(MAIN, epoch),
        )
        if self._adopting is None:
            raise found
        self._differs(partings.of_log(self, found))

    def wrote(self, record: Record) -> None:
        """A sink's record."""
        self.watcher.wrote(record)

    def timer_set(self, callback: str, at_ms: int) -> None:
        """The log says when it fires."""

    def sealed(self, checkpoint: int) -> list[dict[str, Any]]:
        """What the sink sealed, as far as it follows from the replay."""
        return self.watcher.sealed(self.body.epoch)

    def epoch_started(self, epoch: int) -> None:
        """The body passed a barrier."""
        self.watcher.epoch_started(epoch)

    def snapshot_taken(self, checkpoint: int, state: dict[str, Any]) -> None:
        """The body's snapshot is complete."""
        self.watcher.snapshot_taken(checkpoint, state)

    # --- running ---

    @property
    def rebuilt(self) -> bool:
        """Whether every buffer that the log names was cut."""
        return not any(self.pending)

    @property
    def done(self) -> bool:
        """Whether the log is used up, on all threads."""
        return not self.body.replaying and self.rebuilt and not self.plan.to_the_last_take

    def start(self) -> None:
        """Takes what its first epoch begins with, and fires what the log pins to the very beginning."""
        try:
            self._guarded(self.body.start)
        except DivergenceFound as found:
            found.execution = self
            raise

    def next_time_us(self) -> int | None:
        """When the attempt did what would be done next, as far as its receipts tell; those of others say nothing."""
        if self.last_taken is not None and self.body.pending_elements:
            return self.last_taken.receipt.taken_us if self.last_taken.attempt == self.plan.take_from[0] else None
        head = self.next_take()
        return None if head is None else head.receipt.taken_us

    def next_take(self) -> Taken | None:
        """What the attempt itself took next, as its receipts tell."""
        heads = (head for one in self.inputs if (head := one.head()) is not None)
        own = (head for head in heads if head.attempt == self.plan.take_from[0])
        return min(own, key=lambda head: head.receipt.taken_us, default=None)

    def next_cut(self) -> int | None:
        """The output of which a buffer can be cut now."""
        for k, pending in enumerate(self.pending):
            if pending and self.body.writers[k].can_cut(pending[0].buffer_bytes):
                return k
        return None

    def next_cut_us(self) -> int | None:
        """When a source cut the buffer that comes next; None where nothing tells."""
        return self.cut_times.earliest(self.pending, self.body.writers)[0]

    def step(self) -> bool:
        """Does the next thing; False where nothing is left to do."""
        try:
            return self._step()
        except DivergenceFound as found:
            found.execution = self
            raise

    def run(self) -> None:
        """To its end, where everything was appended again."""
        self.start()
        while self.step():
            pass
        self.check_complete()

    def check_complete(self, upto: Logs | None = None) -> None:
        """At the end everything was appended again; or so much of it."""
        try:
            self.log.check_complete(upto)
        except DivergenceFound as found:
            found.execution = self
            raise

    def _step(self) -> bool:
        if self._adopting is not None and self.body.replaying and self._adopting.used_up:
            self.body.choices.cursor = None
        if self.stopped:
            return False
        if self._cut_what_is_there(in_time=True):
            return True
        if self.done:
            return False
        if self.body.pending_elements or self._feed():
            self._guarded(self._process)
            return True
        return self._cut_what_is_there(in_time=False) or self._take()

    def _process(self) -> None:
        self.body.process(1)
        self.watcher.records_done()

    def _cut_what_is_there(self, *, in_time: bool) -> bool:
        """One buffer; `in_time`: not before one on another output that the attempt cut sooner."""
        turns = self.cut_times.turns(self.pending, self.body.writers) if in_time else range(len(self.pending))
        for k, pending in enumerate(self.pending if turns else ()):
            writer = self.body.writers[k]
            if k in turns and pending and writer.can_cut(pending[0].buffer_bytes):
                named = pending.popleft()
                self.cuts[k] += 1
                self.cut_times.forget()
                self.watcher.cut(k, self.body.cut(k, named.buffer_bytes), named)
                return True
            if pending and writer.head_is_closed and not writer.can_cut(pending[0].buffer_bytes):
                self._differs(partings.of_size(self, k, pending[0], writer.available_bytes))
                self._cut_all_there(k, pending.popleft())
                self.cut_times.forget()
                return True
        return False

    def _cut_all_there(self, k: int, named: Built) -> None:
        """After a buffer that can't be rebuilt: what there is of it leaves the stream, so that the next may fit."""
        if self._adopting is not None:
            self._adopting.uncounted[thread_of_output(k), named.epoch] = 1
        if available := self.body.writers[k].available_bytes:
            self.body.cut(k, available)

    # --- inputs ---

    def _feed(self) -> bool:
        if self._records is None:
            return False
        records = list(islice(self._records, _SOURCE_LINES))
        if not records and self.next_cut() is not None:
            return False
        if not records:
            return self._check_nothing_left("records of its source")
        self.body.feed_source(records)
        return True

    def _partition(self) -> Iterator[Record]:
        """The source's records from the restored offset on: those of the attempt itself, then of the ones before it."""
        offset = _number(self.plan.state, "source", "offset")
        for attempt in self.plan.take_from:
            for line in self.source.source(self.plan.task, attempt):
                if line.get("offset") != offset:
                    continue
                if "record" not in line:
                    raise Missing(
                        f"The recording keeps only a reference to record {offset} of {self.plan.task}, not the record."
                    )
                yield self._record(line, offset, attempt)
                offset += 1

    def _record(self, line: Mapping[str, Any], offset: int, attempt: int) -> Record:
        try:
            return Record.from_json(line["record"])
        except ReplayError as fault:
            folder = f"tasks/{self.plan.task}/{attempt}/source/"
            raise DivergenceFound(
                f"Record {offset} under {folder} can't be read: {fault.why}.", member=folder, why=fault.why
            ) from None

    def _take(self) -> bool:
        self._offer(held=self._ahead_of_their_time())
        i = self._guarded(lambda: self.body.next_input(self._as_recorded))
        if i is None:  # whatever the receipts say of their order
            self._offer()
            i = self._guarded(lambda: self.body.next_input(self._as_recorded))
        if i is None:
            return self._check_nothing_left("buffers of its inputs")
        self._take_from(i)
        return True

    def _offer(self, held: Collection[int] = ()) -> None:
        for i, takes in enumerate(self.inputs):
            head = takes.head() if i not in held and not self.body.gate.waiting(i) else None
            if head is not None and not (self.own_takes_only and head.attempt != self.plan.take_from[0]):
                frame = head.buffer.frame
                self._guarded(
                    lambda i=i, frame=frame, head=head: self.body.gate.offer(
                        i, arrival(frame.seq, frame.payload, frame.is_event, channel=self.shape.inputs[i], tag=head)
                    )
                )

    def _ahead_of_their_time(self) -> set[int]:
        """The inputs whose next buffer is a barrier, taken after another input's next: a barrier asks no log."""
        heads = {i: head for i, takes in enumerate(self.inputs) if (head := takes.head()) is not None}
        open_inputs = [self._place(head) for i, head in heads.items() if i not in self.body.gate.blocked]
        first = min(open_inputs, default=None)
        return {i for i, head in heads.items() if head.is_barrier and first is not None and first < self._place(head)}

    def _take_from(self, i: int) -> None:
        taken = self.inputs[i].take()
        if taken is None:
            raise InvariantError("what the gate holds was offered from here")
        self.last_taken = taken
        before = self._senders.get(i)
        self._senders[i] = taken.receipt.sender_attempt
        sender = self.inputs[i].channel.source, taken.receipt.sender_attempt
        anew = not self.source.manifest.protocol.logs or sender in self.plan.begin_anew
        if anew and before not in (None, taken.receipt.sender_attempt):
            self.body.drop_partial_record(i)
        body = self.body
        self.watcher.taken(taken, body.epoch, self.log.length(MAIN, body.epoch), body.record_count)
        self._guarded(lambda: body.take(i))

    def _as_recorded(self, ready: Sequence[int]) -> int:
        """Where no log says it, the receipts do."""
        return min(ready, key=self._recorded_place)

    def _recorded_place(self, i: int) -> tuple[int, ...]:
        head = self.body.gate.head(i)
        if head is None or not isinstance(head.tag, Taken):
            raise InvariantError("what is ready was offered from here")
        return self._place(head.tag)

    def _place(self, taken: Taken) -> tuple[int, ...]:
        """In the order of the takes: an attempt's own come before what earlier ones had taken beyond them."""
        receipt = taken.receipt
        rank = self.plan.take_from.index(taken.attempt)
        return rank, receipt.taken_us, receipt.epoch, receipt.offset, receipt.record_count

    def _check_nothing_left(self, what: str) -> bool:
        """The inputs are at their end: so must the log be. False: nothing is left to do."""
        if self.body.replaying:
            self._differs(partings.out_of_buffers(self, partings.of_rest(self, what)))
            self.body.choices.cursor = None  # nothing can be asked of what is left over
        for k, pending in enumerate(self.pending):
            if pending:
                found = partings.of_size(self, k, pending[0], self.body.writers[k].available_bytes)
                self._differs(partings.out_of_buffers(self, found))
                pending.clear()
        return False

    # --- where operators and damaged buffers fail ---

    def _guarded(self, action: Any) -> Any:
        """An edge: whatever the operator or a damaged buffer raises is a result of the replay."""
        try:
            return action()
        except (DivergenceFound, Missing, InvariantError):
            raise
        except Divergence as found:
            partings.check_log_is_there(self, found)
            raise partings.of_log(self, found) from None
        except CorruptMember as fault:
            if fault.path in self.source.members:
                raise  # of a line or a snapshot that was compared with
            raise partings.of_bad_buffer(self, fault) from None
        except ReplayError:
            raise
        except (Exception, SystemExit) as fault:
            partings.check_machine(fault)
            raise partings.of_operator(self, fault) from fault


def _number(state: Mapping[str, Any] | None, part: str, key: str) -> int:
    """A sequence number or offset of a snapshot; 0 for the initial state, or where it isn't one."""
    fields = (state or {}).get(part)
    value = fields.get(key, 0) if isinstance(fields, Mapping) else 0
    return value if isinstance(value, int) else 0
