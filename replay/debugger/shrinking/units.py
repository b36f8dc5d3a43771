"""What an attempt did, unit by unit: what it was given, what it chose, and what it wrote, up to where it diverged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from replay.debugger.diverging.probe import Probe
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import operator_of
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Logs
from replay.debugger.recorded.story import Story
from replay.log.codec import encode
from replay.log.determinants import Determinant, Order
from replay.model import Record, json_bytes
from replay.runtime.body.records import record_bytes
from replay.runtime.operators import Operator

Kind = Literal["begin", "record", "event", "async"]


@dataclass(slots=True)
class Unit:
    """`i` and `data`: what came from which input (a source: None and the record's line). `chose` are its determinants,
    without orders; `wrote` its bytes by output, an event apart from records; `gave` its writes to the outside.
    `made`: what the replay makes where `wrote` is what the recording holds in its place. Of a source: `offset` is the
    record's in its partition, `elements` how many it emitted in its epoch.
    """

    kind: Kind
    i: int | None = None
    data: bytes = b""
    event: dict[str, Any] | None = None
    record: Record | None = None
    determinant: Determinant | None = None
    chose: list[bytes] = field(default_factory=list)
    wrote: dict[int, list[tuple[bytes, bool]]] = field(default_factory=dict)
    gave: list[list[Any]] = field(default_factory=list)
    ends_epoch: int | None = None
    made: dict[int, bytes] = field(default_factory=dict)
    offset: int | None = None
    elements: int = 0

    def write(self, k: int, data: bytes, *, is_event: bool = False) -> None:
        """Adds to what goes to an output."""
        parts = self.wrote.setdefault(k, [])
        if parts and not is_event and not parts[-1][1]:
            parts[-1] = (parts[-1][0] + data, False)
        else:
            parts.append((data, is_event))

    def size(self, k: int) -> int:
        """How many bytes it gave to that output."""
        return sum(len(data) for data, _ in self.wrote.get(k, ()))


class Gathering(Probe):
    """Keeps the units of an execution as it goes."""

    def __init__(self, comparison: Comparison, operator: Operator, recovered: Logs | None = None):
        super().__init__(comparison, operator, recovered)
        self.units: list[Unit] = [Unit("begin")]
        self._taken: Taken | None = None
        self._emitted = 0

    def _begin(self, unit: Unit) -> None:
        """Another one is in hand from now on."""
        if self.body is not None:
            if self.unit.ends_epoch is None:
                self.unit.elements = self.body.record_count - self._emitted
            self._emitted = self.body.record_count
        self.units.append(unit)

    @property
    def unit(self) -> Unit:
        """The one in hand."""
        return self.units[-1]

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """A buffer is about to be taken."""
        self._taken = taken
        super().taken(taken, epoch, offset, record_count)

    def taking(self, i: int, seq: int) -> None:
        """A barrier is a unit; the records of a buffer are each their own."""
        frame = self._taken.buffer.frame if self._taken is not None else None
        if frame is not None and frame.is_event and b'"barrier"' in frame.payload:
            self._begin(Unit("event", i, frame.payload))

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed."""
        super().delivering(record, record_count)
        i = None if self._taken is None else self._taken.i
        of_source = self.body is not None and not self.body.shape.inputs
        offset = self.body.source_offset - 1 if self.body is not None and of_source else None
        self._begin(Unit("record", i, record_bytes(record), record=record, offset=offset))

    def taking_watermark(self, i: int, watermark_ms: int, record_count: int) -> None:
        """A watermark is about to be processed."""
        super().taking_watermark(i, watermark_ms, record_count)
        payload = self._taken.buffer.frame.payload if self._taken is not None else b""
        self._begin(Unit("event", i, payload))

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed."""
        super().firing(determinant)
        self._begin(Unit("async", determinant=determinant))

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """A determinant of the log was used: orders follow from the units."""
        if not isinstance(determinant, Order):
            self.unit.chose.append(encode(determinant))

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written to an output."""
        super().writing(k, record, data)
        self.unit.write(k, data)

    def forwarding(self, k: int, event: dict[str, Any]) -> None:
        """A watermark is about to be written to an output."""
        super().forwarding(k, event)
        self.unit.write(k, json_bytes(event), is_event=True)

    def snapshotting(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """The main thread took a snapshot."""
        super().snapshotting(checkpoint, state)
        self.unit.ends_epoch = checkpoint
        for k in range(len(self.written)):
            self.unit.write(k, json_bytes({"barrier": checkpoint}), is_event=True)

    def wrote(self, record: Record) -> None:
        """A sink's write."""
        self.unit.gave.append([record.key, record.timestamp, record.value])
        super().wrote(record)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The units of an attempt, and the divergence that ended it."""

    units: list[Unit]
    found: DivergenceFound
    gathering: Gathering


def gathered(source: RecordingSource, story: Story, plan: Plan) -> Gathered | None:
    """Executes the attempt, keeping its units; None where nothing diverges."""
    operator = operator_of(source, plan.task)
    gathering = Gathering(Comparison(source, story, plan), operator, plan.recovered)
    try:
        execution = Execution(source, plan, operator, gathering)
        execution.body.observer = gathering
        gathering.body = execution.body
        execution.body.choices.observer = gathering
        execution.run()
    except DivergenceFound as found:
        return Gathered(gathering.units, found, gathering)
    return None
