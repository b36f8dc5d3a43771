"""Stands around the steps of an execution and notes what it took, chose, kept and gave, beside writing the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.execution import Execution
from replay.debugger.ports import BufferRow, Change, Step, StepSink, Told
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Built
from replay.debugger.sides.ledger import Ledger
from replay.debugger.sides.lines import LinesOf
from replay.debugger.sides.trace import MOST_SAID, Item, Noting, Stream, digest, shown
from replay.debugger.writing import words
from replay.debugger.writing.stepping import Stepping
from replay.log.codec import encode
from replay.log.determinants import Determinant
from replay.model import Record, json_bytes
from replay.runtime.body.output import Cut
from replay.runtime.operators import Operator, Timer


class Tracing(Bystander):
    """A watcher of an execution, and an observer of its body and of its choices: all that `Stepping` is, and notes.

    Nothing is noted before epoch `since`. `calls` counts what the operator was given, also before it.
    """

    def __init__(self, stepping: Stepping, noting: Noting, since: int = 0):
        self.stepping = stepping
        self.noting = noting
        self.since = since
        self.ledger = Ledger()
        self.calls = -1
        self.lines: LinesOf | None = None
        self.execution: Execution | None = None
        self.held: dict[str, str] = {}
        self._based = False
        self._taken = ""
        self._seeded = False

    def attach(self, execution: Execution) -> None:
        """After the steps have begun, and before anything is executed."""
        self.execution = execution
        self._seeded = execution.source.graph.vertex_of(self.stepping.shape.id).seeds_random
        self.lines = LinesOf(execution.body.operator)
        execution.body.observer = self
        execution.body.choices.observer = self
        self._base()

    def replaced(self, operator: Operator) -> None:
        """Another operator goes on: it is its lines that are named."""
        self.stepping.replaced(operator)
        self.lines = LinesOf(operator)

    def _base(self) -> None:
        """What the state is where the notes begin: one item a key."""
        if self._based or self._epoch < self.since:
            return
        self._based = True
        for key, value in sorted(self.held.items()):
            self._note("state", (key, value), f"{key} is {shown(value)}", place=key)

    # --- notes ---

    @property
    def _epoch(self) -> int:
        return 0 if self.execution is None else self.execution.body.epoch

    @property
    def _step(self) -> int:
        return max(0, self.stepping.steps.count - 1)

    def _note(self, stream: Stream, what: tuple[Any, ...], said: str, *, place: str = "", line: str = "") -> None:
        if self._epoch >= self.since:
            count = 0 if self.execution is None else self.execution.body.record_count
            self.noting.note(stream, Item(self._step, self._epoch, count, what, said, place, line))

    def changed(self, step: int, key: str, before: str | None, after: str | None) -> None:
        """A key of the state has another value now, or none."""
        if after is None:
            self.held.pop(key, None)
        else:
            self.held[key] = after
        if not self._based:
            return
        now = "is gone" if after is None else f"is {shown(after)}"
        count = 0 if self.execution is None else self.execution.body.record_count
        what = (self._epoch, count, key, after)
        said = f"{key} {now} (it was {shown(before or 'not there')})"
        self.noting.note("state", Item(step, self._epoch, count, what, said, key, call=self.calls))

    # --- inputs ---

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """The execution's watcher."""
        self._taken = self.stepping.shape.inputs[taken.i]
        self.stepping.taken(taken, epoch, offset, record_count)

    def taking(self, i: int, seq: int) -> None:
        """A buffer is about to be taken."""
        self.stepping.taking(i, seq)

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed."""
        self.stepping.delivering(record, record_count)
        self.calls += 1
        data = record.to_body()
        origin = self._taken or "its source"
        said = f"record {shown(data[:MOST_SAID].decode('utf-8', 'replace'))} of {origin}"
        self._note("input", (origin, digest(data)), said, place=origin)

    def taking_watermark(self, i: int, watermark_ms: int, record_count: int) -> None:
        """A watermark is about to be processed."""
        self.stepping.taking_watermark(i, watermark_ms, record_count)
        channel = self.stepping.shape.inputs[i]
        self._note("input", (channel, watermark_ms), f"watermark {watermark_ms} of {channel}", place=channel)

    def running(self, timer: Timer) -> None:
        """A timer is about to be given to the operator."""
        self.stepping.running(timer)
        self.calls += 1

    def watermark_passed(self, watermark_ms: int) -> None:
        """The operator is about to be told of a watermark."""
        self.stepping.watermark_passed(watermark_ms)
        self.calls += 1

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed."""
        self.stepping.firing(determinant)

    def done(self) -> None:
        """A watermark or an asynchronous determinant is done with."""
        self.stepping.done()

    def records_done(self) -> None:
        """A record is done with."""
        self.stepping.records_done()

    # --- choices ---

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """A determinant of the log was used."""
        self.stepping.took(determinant, epoch, offset)

    def appended(self, determinant: Determinant, epoch: int) -> None:
        """A determinant was appended."""
        self.stepping.appended(determinant, epoch)
        line = "" if self.lines is None else self.lines.now()
        said = words.said(determinant, seeded=self._seeded)
        place = f"main, epoch {epoch}"
        self._note("determinant", (epoch, encode(determinant)), shown(said), place=place, line=line)

    # --- outputs ---

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written."""
        self.stepping.writing(k, record, data)
        self._output(self.stepping.shape.outputs[k].channel, data[4:])

    def forwarding(self, k: int, event: dict[str, Any]) -> None:
        """A watermark is about to be written."""
        self.stepping.forwarding(k, event)
        self._output(self.stepping.shape.outputs[k].channel, json_bytes(event))

    def wrote(self, record: Record) -> None:
        """A sink's write."""
        self.stepping.wrote(record)
        data = record.to_body()
        self._output("the world outside", data)
        if self._epoch >= self.since:
            self.ledger.wrote(data, self._step)

    def _output(self, where: str, data: bytes) -> None:
        said = f"{shown(data[:MOST_SAID].decode('utf-8', 'replace'))} to {where}"
        line = "" if self.lines is None else self.lines.now()
        self._note("output", (where, digest(data)), said, place=where, line=line)

    def cut(self, k: int, cut: Cut, named: Built | None) -> None:
        """A buffer was cut."""
        if cut.epoch >= self.since:
            self.ledger.cut(self.stepping.shape.outputs[k].channel, cut, self.stepping.steps.count)
        self.stepping.cut(k, cut, named)

    # --- epochs ---

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """A sink's part of a snapshot."""
        return self.stepping.sealed(epoch)

    def epoch_started(self, epoch: int) -> None:
        """The task passed a barrier."""
        self.stepping.epoch_started(epoch)
        self._base()

    def snapshotting(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """The main thread took a snapshot."""
        self.stepping.snapshotting(checkpoint, state)

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A snapshot is complete."""
        self.stepping.snapshot_taken(checkpoint, state)


class TracingSink:
    """A step sink that hands everything on, and notes steps and changes of state."""

    def __init__(self, inner: StepSink, noting: Noting):
        self.inner = inner
        self.noting = noting
        self.tracing: Tracing | None = None

    def step(self, told: Told) -> None:
        """A row of `steps`, and its causes."""
        self.inner.step(told)
        row = Step._make(told).row()
        if row.kind not in ("fork", "finish"):
            item = Item(row.step, row.epoch, row.record_count, tuple(row[2:]), row.text, row.kind)
            self.noting.note("step", item)

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        """Rows of `state_changes`."""
        self.inner.state_changes(step, task, changes)
        if self.tracing is not None:
            for change in changes:
                self.tracing.changed(step, *change)

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """A row of `taken`."""
        self.inner.taken(step, task, determinant, value, name)

    def buffer(self, row: BufferRow) -> None:
        """A row of `buffers`."""
        self.inner.buffer(row)

    def open_order(self, step: int, before: int) -> None:
        """A row of `open_orders`."""
        self.inner.open_order(step, before)

    def flush(self) -> None:
        """Handed on."""
        self.inner.flush()
