"""Writes the steps of an execution: what was taken, delivered, followed, appended, written, cut and held back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import BufferRow
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Built
from replay.debugger.together.exchange import Exchange
from replay.debugger.writing import flow_words
from replay.debugger.writing.doing import Doing
from replay.debugger.writing.filled import Filled
from replay.debugger.writing.followed import Followed
from replay.debugger.writing.sentences import Values
from replay.debugger.writing.state_keys import flat
from replay.debugger.writing.state_notes import StateNotes
from replay.debugger.writing.stepping_forms import SteppingForms
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import bytes_of, counted, said
from replay.log.codec import size_of
from replay.log.determinants import (
    BufferBuilt,
    Determinant,
    Order,
    Rng,
    Serializable,
    TimerTrigger,
    Timestamp,
    is_async,
)
from replay.model import MAIN, ChannelId, Record, Task, json_bytes, thread_of_output
from replay.runtime.body.output import Cut
from replay.runtime.body.timers import CLOCK_CALLBACK
from replay.runtime.operators import Operator, Timer

_READ = (Timestamp, Rng, Serializable)


@dataclass(slots=True)
class Stepping:
    """Watches an execution and its body. `requested` says which steps asked for the buffers of an input.

    `free`: a fork has left its log, and chooses for itself.
    """

    shape: Task
    followed: Followed
    steps: StepWriter
    comparison: Comparison
    holds_back: bool
    requested: Mapping[ChannelId, int] = field(default_factory=dict)
    on_epoch: Callable[[int], None] = lambda epoch: None
    on_append: Callable[[], None] = lambda: None
    on_snapshot: Callable[[int], None] = lambda checkpoint: None
    exchange: Exchange | None = None
    execution: Execution | None = None
    free: bool = False
    _forms: SteppingForms = field(init=False)
    _notes: StateNotes | None = None
    _numbers: dict[int, int] = field(default_factory=dict)
    _order_written: bool = False
    _ordered_at: tuple[int, int] = (0, 0)
    _last_taken: Taken | None = None
    _element: int | None = None
    _doing: Doing = field(default_factory=Doing)
    _filled: list[Filled] = field(default_factory=list)
    _barriers: list[tuple[bytes, int]] = field(default_factory=list)
    _seeded: bool = False

    def __post_init__(self) -> None:
        self._forms = SteppingForms(self.shape, self.comparison.sink)

    # --- divergences ---

    @property
    def goes_on(self) -> bool:
        """As the replay was asked to."""
        return self.steps.findings.goes_on

    def differs(self, found: DivergenceFound) -> None:
        """Raises it, or writes the step of it and lets the execution go on."""
        found.execution = self.execution
        self.steps.findings.differs(found)

    # --- the beginning ---

    def begin(self, execution: Execution, restored: str, causes: tuple[str, ...]) -> None:
        """Hooks into the body, and writes the state that it begins with."""
        self.execution = execution
        execution.body.observer = self
        execution.body.choices.observer = self
        self._filled = [Filled() for _ in self.shape.outputs]
        left = {} if self.exchange is None else self.exchange.states.get(self.shape.id, {})
        self._stand()
        self._notes = StateNotes(self.steps, execution.body, left)
        self._begin(self.steps.write("restore", restored, causes=causes))
        self._note_state()
        self._seeded = execution.source.graph.vertex_of(self.shape.id).seeds_random

    def replaced(self, operator: Operator) -> None:
        """A fork goes on with another operator."""
        self._note_state()
        if self._notes is not None:
            self._notes.replace(operator)

    def _stand(self) -> None:
        if self.execution is not None:
            body, steps = self.execution.body, self.steps
            steps.epoch = body.choices.epoch
            steps.record_count = body.record_count

    @property
    def state(self) -> dict[str, str]:
        """The operator's state as the changes so far add up to it."""
        return {} if self._notes is None else self._notes.state

    @property
    def resolution(self) -> dict[str, str]:
        """Said where the state is too large to be looked at after every record."""
        return {} if self._notes is None else self._notes.resolution

    # --- inputs ---

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """The execution's watcher: kept until the body takes it."""
        self._last_taken = taken
        try:
            self.comparison.taken(taken, epoch, offset, record_count)
        except DivergenceFound as found:
            self.differs(found)
        if taken.attempt == self.comparison.own:  # what an earlier attempt took beyond it tells nothing of its time
            self.steps.t_us = max(self.steps.t_us, taken.receipt.taken_us)

    def taking(self, i: int, seq: int) -> None:
        """The body is about to take a buffer."""
        self._stand()
        taken = self._last_taken
        if taken is None:
            return
        frame = taken.buffer.frame
        channel = self.shape.inputs[i]
        log = None
        order = None if taken.is_barrier else self._order_ahead(i)
        if order is None:
            asked = (f"step:{self.requested[channel]}",) if channel in self.requested else ()
            causes = (*self.steps.caused_by("restore"), *asked)
        else:
            log = self.followed.whose(MAIN, *self._ordered_at)
            causes = (f"step:{order}",)
        if self.exchange is not None:
            causes += self.exchange.taken(channel, taken.receipt.sender_attempt, seq)
        step = self.steps.write(
            "take-buffer",
            flow_words.take_words(log, i, channel, frame, self.comparison.first_execution_took(taken)),
            causes=causes,
            channel=channel,
            buffer=seq,
            size=len(frame.payload),
        )
        if taken.is_barrier:
            self._barriers.append((frame.payload, step))

    def _order_ahead(self, i: int) -> int | None:
        """The order determinant comes before the buffer that it names, though the body takes both at once."""
        cursor = self.execution.body.choices.cursor if self.execution is not None else None
        if cursor is None or self.execution is None or len(self.shape.inputs) == 1:
            return None
        epoch = self.execution.body.epoch
        if cursor.peek(epoch) != Order(i):
            return None
        self._order_written = True
        self._ordered_at = epoch, cursor.offset(epoch)
        return self._determinant(Order(i), epoch, cursor.offset(epoch))

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed."""
        steps, taken = self.steps, self._last_taken
        if self.execution is not None:
            steps.epoch = self.execution.body.choices.epoch
        steps.record_count = record_count
        key = flow_words.short(record[0])
        came = steps.told.get("take-buffer") or steps.told.get("restore")
        causes = () if came is None else (came[0],)
        if taken is None:
            step = steps.say(self._forms.delivers_from_source, (record_count, key), causes)
        else:
            seq = taken.buffer.frame.seq
            step = steps.say(self._forms.delivers[taken.i], (record_count, key, seq), causes, (), None, seq)
        self._element = step
        self._doing.begins(step)
        if self._notes is not None:
            self._notes.due = True

    def taking_watermark(self, i: int, watermark_ms: int, record_count: int) -> None:
        """A watermark is about to be processed."""
        self._stand()
        self.steps.record_count = record_count
        upstream = self.shape.inputs[i].partition(">")[0]
        says = flow_words.watermark_words(upstream, watermark_ms)
        taken = self._last_taken
        channel, seq = (None, None) if taken is None else (self.shape.inputs[taken.i], taken.buffer.frame.seq)
        text = f"Processes a watermark as element {record_count:,} of the epoch: {says}."
        causes = self.steps.last("take-buffer") or self.steps.last("restore")
        step = self.steps.say(self.steps.form("deliver-record", channel=channel), (text,), causes, (), None, seq)
        self._element = step
        self._begin(step)

    def running(self, timer: Timer) -> None:
        """A timer is about to be given to the operator."""
        self._note_state()
        cause = () if self._element is None else (f"step:{self._element}",)
        self._begin(self.steps.write("deliver-record", flow_words.timer_words(timer), causes=cause))

    def watermark_passed(self, watermark_ms: int) -> None:
        """The timers are done; what follows is the watermark's doing again."""
        self._note_state()
        self._begin(self._element)

    def _begin(self, step: int | None) -> None:
        self._doing.begins(step)
        if self._notes is not None:
            self._notes.due = True

    def done(self) -> None:
        """An asynchronous determinant, or a watermark, and all that followed from it are done."""
        self._note_state()

    def records_done(self) -> None:
        """A record and all that followed from it are done."""
        notes = self._notes
        if notes is not None and notes.due:
            notes.note(self._doing.given)

    def _note_state(self, *, always: bool = False) -> None:
        """What changed in the operator's state since it was given the last record, timer or watermark?"""
        if self._notes is not None:
            self._notes.note(self._doing.given, always=always)

    # --- determinants ---

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """The main thread used a determinant of the log that it follows."""
        if self._order_written and isinstance(determinant, Order):
            self._order_written = False
            return
        self._stand()
        if isinstance(determinant, _READ):
            self._doing.read(self._determinant(determinant, epoch, offset, self._doing.asks))
        else:
            self._determinant(determinant, epoch, offset)

    def _determinant(self, determinant: Determinant, epoch: int, offset: int, asked: tuple[int, ...] = ()) -> int:
        followed, numbers = self.followed, self._numbers
        number = numbers.get(epoch, 0)
        numbers[epoch] = number + 1
        named, of_steps = followed.causes(self.steps, MAIN, epoch, number, offset)
        if asked:
            of_steps = (*of_steps, *[one for one in asked if one not in of_steps]) if of_steps else asked
        whose = followed.whose(MAIN, epoch, offset)
        values: Values
        if type(determinant) is Timestamp:
            form, values = self._forms.takes_time, (whose, determinant.value, number, epoch)
        else:
            form = self._forms.fires if is_async(determinant) else self._forms.takes
            says = f"{said(determinant, seeded=self._seeded)}{self._upstream(determinant)}"
            values = (whose, says, number, epoch)
        size = size_of(determinant)
        step = self.steps.say(form, values, of_steps, named, offset, None, size)
        self.steps.took(step, determinant)
        if isinstance(determinant, TimerTrigger):
            self._begin(step)
            self._element = step
            if self._notes is not None:
                self._notes.due = determinant.callback != CLOCK_CALLBACK
        return step

    def _upstream(self, determinant: Determinant) -> str:
        if not isinstance(determinant, Order) or determinant.channel >= len(self.shape.inputs):
            return ""
        return f" ({self.shape.inputs[determinant.channel].partition('>')[0]})"

    def appended(self, determinant: Determinant, epoch: int) -> None:
        """A determinant was appended to the main log (again)."""
        if self.execution is None:
            return
        size = size_of(determinant)
        begin = self.execution.log.length(MAIN, epoch) - size
        does = "Chooses anew, and appends it" if self.free else "Appends it again"
        if not self.free and self.followed.recovered is not None and self.followed.is_beyond(MAIN, epoch, begin):
            does = "Appends it"
        values = (does, determinant.kind, begin, epoch)
        causes = self._causes_of_append(determinant)
        step = self.steps.say(self._forms.appends, values, causes, (), begin, None, size)
        if self.free:  # nothing was taken from a log before
            self.steps.took(step, determinant)
            if isinstance(determinant, _READ):
                self._doing.read(step)
        self.on_append()

    def _causes_of_append(self, determinant: Determinant) -> tuple[int, ...]:
        """What it was read from; what is chosen anew follows from what the task was about."""
        if not self.free:
            is_read = type(determinant) is Timestamp
            return self.steps.last("take-determinant" if is_read or not is_async(determinant) else "fire-async")
        if isinstance(determinant, Order):
            return self.steps.last("take-buffer")
        return self._doing.asks or self.steps.last("restore")

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed; the step is written when it is taken from the log."""
        self._note_state()
        self._stand()

    # --- outputs ---

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written to an output."""
        size = len(data)
        values = (flow_words.short(record[0]), size)
        step = self.steps.say(self._forms.writes[k], values, self._doing.writes, (), None, None, size)
        self._filled[k].wrote(step, size)

    def forwarding(self, k: int, event: Mapping[str, Any]) -> None:
        """A watermark is about to be written to an output."""
        channel = self.shape.outputs[k].channel
        data = json_bytes(event)
        text = f"Writes a watermark to output {k} ({channel.partition('>')[2]}): {data.decode()}."
        form = self.steps.form("write-record", channel=channel)
        step = self.steps.say(form, (text,), self._doing.writes, (), None, None, len(data))
        self._filled[k].wrote(step, len(data))

    def wrote(self, record: Record) -> None:
        """A sink gave a record to the outside."""
        held_back = False
        try:
            held_back = self.comparison.wrote(record)
        except DivergenceFound as found:
            self.differs(found)
        form = self._forms.holds_back_write if held_back else self._forms.gives
        self.steps.say(form, (flow_words.short(record[0]),), self._doing.writes)

    def cut(self, k: int, cut: Cut, named: Built | None) -> None:
        """A buffer was cut at exactly the size that the output's log names."""
        self._stand()
        if not self.shape.inputs:  # a source has no receipts that would tell the time
            self.steps.t_us = max(self.steps.t_us, self.comparison.own_cut_us(k, cut.seq) or 0)
        thread = thread_of_output(k)
        channel = self.shape.outputs[k].channel
        left = 0 if self.execution is None else self.execution.body.writers[k].queued_bytes
        causes = self._filled[k].cut(len(cut.payload), left=left)
        beyond = named is not None and self.followed.is_beyond(thread, named.epoch, named.offset)
        if named is not None:
            whose = f"The new attempt's own log of {thread}" if beyond else f"The log of {thread}"
            taken = self.steps.write(
                "take-determinant",
                f"{whose} says that buffer {cut.seq} of {channel} has {bytes_of(named.buffer_bytes)}: determinant "
                f"{named.seq:,} of epoch {named.epoch}.",
                actor=thread,
                causes=self._named(thread, named),
                log=thread,
                log_offset=named.offset,
                channel=channel,
                buffer=cut.seq,
                size=5,
            )
            self.steps.took(taken, BufferBuilt(named.buffer_bytes))
            causes.append(taken)
        self.steps.write(
            "cut-buffer",
            flow_words.cut_words(channel, cut, anew=beyond or self.free),
            actor=thread,
            of_steps=tuple(causes) or self.steps.last("restore"),
            log=thread,
            log_offset=None if named is None else named.offset,
            channel=channel,
            buffer=cut.seq,
            size=len(cut.payload),
        )
        self._hold_back(k, cut, beyond)

    def _named(self, thread: str, named: Built) -> list[str]:
        others, of_steps = self.followed.causes(self.steps, thread, named.epoch, named.seq, named.offset)
        return [*others, *(f"step:{step}" for step in of_steps)]

    def _hold_back(self, k: int, cut: Cut, beyond: bool) -> None:
        """A buffer that differs is told of before the divergence is: what stands beside it says how it came about."""
        try:
            matches, received = self.comparison.cut(k, cut, beyond=beyond)
        except DivergenceFound as found:
            self._write_held_back(k, cut, beyond, False, self.comparison.was_received(k, cut.seq))
            self.differs(found)
            return
        self._write_held_back(k, cut, beyond, matches, received)

    def _write_held_back(self, k: int, cut: Cut, beyond: bool, matches: bool | None, received: bool | None) -> None:
        channel = self.shape.outputs[k].channel
        held = self.holds_back and not beyond
        kind = "hold-back" if held else "send-buffer"
        step = self.steps.write(
            kind,
            flow_words.fate_words(channel, cut, held=held, beyond=beyond, matches=matches, received=received),
            actor=thread_of_output(k),
            causes=self.steps.caused_by("cut-buffer"),
            channel=channel,
            buffer=cut.seq,
            size=len(cut.payload),
        )
        self.steps.sink.buffer(BufferRow(step, self.shape.id, channel, cut.seq, len(cut.payload), received, matches))
        if self.exchange is not None and not held:
            self.exchange.was_sent(channel, self.comparison.own, cut.seq, step)

    # --- epochs ---

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """A sink's part of a snapshot."""
        return self.comparison.sealed(epoch)

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""
        self._stand()
        self.on_epoch(epoch)

    def snapshotting(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """The main thread took a snapshot."""
        self._note_state(always=self._notes is not None and self._notes.behind)
        keys = len(flat(state.get("operator", {})))
        barrier = json_bytes({"barrier": checkpoint})
        causes = [f"step:{step}" for payload, step in self._barriers if payload == barrier]
        self._barriers.clear()
        step = self.steps.write(
            "snapshot",
            f"Takes the snapshot of checkpoint {checkpoint}: {counted(keys, 'key')} of operator state.",
            causes=causes or self._because_triggered(),
        )
        for filled in self._filled:  # the barrier went ahead of it
            filled.wrote(step, len(barrier))
        self._doing.begins(step)  # what is read at the new epoch's beginning is no record's doing

    def _because_triggered(self) -> tuple[str, ...]:
        kind = "take-buffer" if self.shape.inputs else "append" if self.free else "fire-async"
        return self.steps.caused_by(kind) or self.steps.caused_by("restore")

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A snapshot is complete."""
        try:
            self.comparison.snapshot_taken(checkpoint, state)
        except DivergenceFound as found:
            self.differs(found)
        self.on_snapshot(checkpoint)
