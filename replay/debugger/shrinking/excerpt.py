"""Writes some units of an attempt as a recording of its own: inputs become sources, what is below stays empty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from replay.bundle.frames import IS_EVENT, BufferFrame, ReceiptFrame, SendingFrame
from replay.bundle.members import member_name
from replay.bundle.members_in_memory import MembersInMemory
from replay.debugger.executing.execution import Plan
from replay.debugger.ports import RecordingSource
from replay.debugger.shrinking.units import Unit
from replay.errors import ReplayError
from replay.jobs.graphs import manifest_of
from replay.log.codec import encode
from replay.log.determinants import BufferBuilt, Order, SourceCheckpoint
from replay.model import (
    MAIN,
    ChannelId,
    Edge,
    Graph,
    Job,
    Manifest,
    Protocol,
    Record,
    Task,
    Vertex,
    json_bytes,
    read_json,
    thread_of_output,
)
from replay.runtime.body.records import record_bytes

RECORDER = "clonoscope shrink"


@dataclass(frozen=True, slots=True)
class Kept:
    """What an excerpt is made of: some units, and the vertices around the task that it still needs."""

    units: tuple[Unit, ...]
    left_out: frozenset[str] = frozenset()


def attempt_of(plan: Plan) -> int:
    """The attempt in an excerpt: the second, where it begins from a snapshot that the first one took."""
    return 1 if plan.checkpoint else 0


def excerpt(source: RecordingSource, plan: Plan, kept: Kept, of: Mapping[str, Any]) -> MembersInMemory:
    """The recording. `of` says in its manifest what it is an excerpt of."""
    manifest = _manifest(source, plan.task, kept.left_out, of)
    return MembersInMemory(_Writing(source.graph, Graph(manifest), plan, kept).members())


def _manifest(source: RecordingSource, task: str, left_out: Collection[str], of: Mapping[str, Any]) -> Manifest:
    whole = source.manifest
    own = source.graph.vertex_of(task)
    edges = [one for one in whole.edges if own.id in (one.source, one.target)]
    edges = [one for one in edges if one.source not in left_out and one.target not in left_out]
    above, below = {one.source for one in edges}, {one.target for one in edges}
    vertices = [
        one
        if one.id == own.id
        else Vertex(one.id, "source" if one.id in above else "sink", parallelism=one.parallelism)
        for one in whole.vertices
        if one.id in above | below | {own.id}
    ]
    kind = own.kind if own.kind != "operator" or above & below else "operator"
    vertices = [replace(one, kind=kind) if one.id == own.id else one for one in vertices]
    job = Job(whole.job.name, RECORDER, whole.job.recorded_at, None, "")
    protocol = Protocol(
        name="none", sharing_depth=0, sink="plain", buffer_bytes=whole.protocol.buffer_bytes, observed=True
    )
    made = manifest_of(job, protocol, vertices, [Edge(one.source, one.target, one.ship) for one in edges])
    raw = {name: whole.raw[name] for name in ("code",) if name in whole.raw}
    return replace(made, clock=whole.clock, raw={**raw, "excerpt": dict(of)})


@dataclass(slots=True)
class _Sender:
    """A task above, which in the excerpt is a source: how many records it read, and elements it sent in its epoch."""

    epoch: int
    offset: int = 0
    elements: int = 0


@dataclass(slots=True)
class _Writing:
    """Goes through the units and numbers everything anew: buffers, offsets, record counts, times."""

    whole: Graph
    graph: Graph
    plan: Plan
    kept: Kept
    files: dict[str, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    epoch: int = 0
    count: int = 0
    t_us: int = 1
    seqs: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    epochs: dict[str, int] = field(default_factory=dict)
    senders: dict[str, _Sender] = field(default_factory=dict)
    given: int = 0
    read: dict[tuple[str, int], int] = field(default_factory=dict)

    def members(self) -> dict[str, bytes]:
        """The excerpt, by member."""
        self.epoch = self.plan.checkpoint
        if not self._shape.inputs:
            part = (self.plan.state or {}).get("source", {})
            self.senders[self.plan.task] = _Sender(self.epoch, int(part.get("offset", 0)))
        self._log(b"")
        for unit in self.kept.units:
            self._unit(unit)
            self.t_us += 2
        self._tell()
        self.files["job.json"] += self.graph.manifest.to_bytes()
        return {name: bytes(data) for name, data in self.files.items()}

    @property
    def _shape(self) -> Task:
        return self.graph.task(self.plan.task)

    # --- units ---

    def _unit(self, unit: Unit) -> None:
        if unit.i is not None:
            self._receive(unit, self.whole.task(self.plan.task).inputs[unit.i])
        if unit.offset is not None and unit.record is not None:
            self._read(unit.offset, unit.record)
        chose = list(unit.chose)
        if unit.kind == "async" and unit.determinant is not None and chose:
            asynchronous: Any = unit.determinant
            chose[0] = encode(replace(asynchronous, record_count=self.count))
            self._log(chose.pop(0))
        if unit.ends_epoch is not None:
            self.epoch, self.count = unit.ends_epoch, 0
            self._log(b"")
        for data in chose:
            self._log(data)
        outputs = self.whole.task(self.plan.task).outputs
        for k, parts in sorted(unit.wrote.items()):
            for data, is_event in parts:
                self._cut(outputs[k].channel, data, is_event, self._upto(unit, k))
        for line in unit.gave:
            self._give(line)
        self.count += unit.elements if not self._shape.inputs and unit.ends_epoch is None else 0

    def _read(self, offset: int, record: Record) -> None:
        """A source's own record, as the next of its partition."""
        own = self.senders[self.plan.task]
        self.read[self.plan.task, offset] = own.offset
        line = {"offset": own.offset, "t_us": self.t_us, "record": [record.key, record.timestamp, record.value]}
        self._add(self.plan.task, attempt_of(self.plan), "source", self.epoch, json_bytes(line) + b"\n")
        own.offset += 1

    def _receive(self, unit: Unit, channel: str) -> None:
        """The input's buffer, its sending and receipt; and its record as that of a source."""
        if channel not in self._shape.inputs:
            return
        i, sender = self._shape.inputs.index(ChannelId(channel)), channel.partition(">")[0]
        epoch = self.epochs.setdefault(channel, self.plan.checkpoint)
        event = read_json(unit.data) if unit.kind == "event" else None
        k = self.graph.channel(ChannelId(channel)).k
        seq, receiver = self.seqs[channel], attempt_of(self.plan)
        self.seqs[channel] += 1
        flags = 0 if event is None else IS_EVENT
        data = unit.data
        if unit.record is not None:
            self._number(sender, unit.record)
            data = self._renamed(data)
        frame = BufferFrame(seq, self.t_us, flags, epoch, epoch, 0, data)
        self._add(sender, 0, f"sent-{k}", epoch, frame.to_bytes(), "buf")
        self._add(sender, 0, f"sent-{k}", epoch, SendingFrame(seq, self.t_us, receiver, 0, 0, b"").to_bytes(), "dlt")
        self._add(sender, 0, thread_of_output(k), epoch, encode(BufferBuilt(len(data))))
        at = len(self.files[self._name(MAIN, self.epoch)])
        receipt = ReceiptFrame(seq, 0, 0, self.t_us, self.t_us, self.epoch, at, self.count)
        self._add(self.plan.task, receiver, f"received-{i}", epoch, receipt.to_bytes())
        self._send(sender, channel, epoch, event, unit.record)
        barrier = event is not None and "barrier" in event
        if not barrier:
            self.count += 1
            if len(self._shape.inputs) > 1:
                self._log(encode(Order(i)))

    def _number(self, sender: str, record: Record) -> None:
        """What its sender had read under another number is, in the excerpt, the next that it reads."""
        offset = self.senders.setdefault(sender, _Sender(self.plan.checkpoint)).offset
        for pair in record.lineage or ():
            if pair[0] == sender:
                self.read[pair] = offset

    def _renamed(self, data: bytes) -> bytes:
        """Records with the new numbers in their lineage; what is none stays as it is."""
        made, at = b"", 0
        while at + 4 <= len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big", signed=True)
            if not at + 4 <= end <= len(data):
                break
            made += self._renamed_record(data[at:end])
            at = end
        return made + data[at:]

    def _renamed_record(self, data: bytes) -> bytes:
        try:
            record = Record.from_body(data[4:])
        except ReplayError:
            return data
        if not record.lineage or not any(pair in self.read for pair in record.lineage):
            return data
        lineage = tuple((pair[0], self.read.get(pair, pair[1])) for pair in record.lineage)
        return record_bytes(Record(record.key, record.timestamp, record.value, lineage))

    def _send(
        self, sender: str, channel: str, epoch: int, event: Mapping[str, Any] | None, record: Record | None
    ) -> None:
        one = self.senders.setdefault(sender, _Sender(self.plan.checkpoint))
        if record is not None:
            line = {"offset": one.offset, "t_us": self.t_us, "record": [record.key, record.timestamp, record.value]}
            self._add(sender, 0, "source", epoch, json_bytes(line) + b"\n")
            one.offset += 1
        if event is None or "barrier" not in event:
            one.elements += 1
            return
        self.epochs[channel] = event["barrier"]
        if one.epoch < event["barrier"]:
            trigger = SourceCheckpoint(one.elements, event["barrier"], 0, "checkpoint", b"")
            self._add(sender, 0, MAIN, one.epoch, encode(trigger))
            one.epoch, one.elements = event["barrier"], 0

    # --- what the task itself leaves ---

    def _upto(self, unit: Unit, k: int) -> int | None:
        """Of a buffer that differs, as much as the replay makes: else its size would differ first."""
        return len(self._renamed(unit.made[k])) if k in unit.made else None

    def _cut(self, channel: str, data: bytes, is_event: bool, upto: int | None) -> None:
        names = [one.channel for one in self._shape.outputs]
        if channel not in names:
            return
        k, epoch = names.index(ChannelId(channel)), self.epochs.setdefault(channel, self.plan.checkpoint)
        at = len(self.files[self._name(MAIN, self.epoch)])
        data = data if is_event else self._renamed(data)[:upto]
        frame = BufferFrame(self.seqs[channel], self.t_us + 1, IS_EVENT * is_event, epoch, self.epoch, at, data)
        self.seqs[channel] += 1
        attempt = attempt_of(self.plan)
        self._add(self.plan.task, attempt, f"sent-{k}", epoch, frame.to_bytes(), "buf")
        self._add(self.plan.task, attempt, thread_of_output(k), epoch, encode(BufferBuilt(len(data))))
        if is_event and "barrier" in (event := read_json(data)):
            self.epochs[channel] = event["barrier"]

    def _give(self, record: list[Any]) -> None:
        line = {"n": self.given, "t_us": self.t_us, "record": record, "source": []}
        self._add(self.plan.task, attempt_of(self.plan), "sink", self.epoch, json_bytes(line) + b"\n")
        self.given += 1

    def _log(self, data: bytes) -> None:
        self._add(self.plan.task, attempt_of(self.plan), MAIN, self.epoch, data)

    def _name(self, folder: str, epoch: int) -> str:
        return member_name(self.plan.task, attempt_of(self.plan), folder, epoch)

    def _add(self, task: str, attempt: int, folder: str, epoch: int, data: bytes, suffix: str | None = None) -> None:
        self.files[member_name(task, attempt, folder, epoch, suffix)] += data

    # --- what is told of it ---

    def _tell(self) -> None:
        """That the attempts began; and where the task begins from a snapshot, how that came to be restored."""
        tasks, checkpoint, own = [one.id for one in self.graph.manifest.tasks], self.plan.checkpoint, self.plan.task
        events: list[dict[str, Any]] = [_began(task, 0, 0) for task in tasks]
        if checkpoint:
            events += [{"t_us": 0, "type": "checkpoint-triggered", "checkpoint": checkpoint}]
            for task in tasks:
                state = json_bytes(_rebased(self.graph, task, self.plan.state if task == own else None))
                self._add(task, 0, "state", checkpoint, state)
                fields = {"at": task, "attempt": 0, "task": task, "checkpoint": checkpoint, "bytes": len(state)}
                events.append({"t_us": 0, "type": "checkpoint-acknowledged", **fields})
            failed = {"failure": 0, "task": own, "attempt": 0, "host": "host-0", "cause": "killed"}
            events += [
                {"t_us": 0, "type": "checkpoint-completed", "checkpoint": checkpoint},
                {"t_us": 0, "type": "task-failed", **failed},
                {"t_us": 0, "type": "failure-detected", "failure": 0, "by": "connection"},
                {"t_us": 0, "type": "task-rescheduled", "failure": 0, "task": own, "host": "host-0"},
                {**_began(own, 1, checkpoint), "failure": 0},
            ]
        said = {"at": own, "attempt": attempt_of(self.plan), "task": own, "records_in": 0, "records_out": 0}
        events.append({"t_us": self.t_us, "type": "metric", **said})
        for n, event in enumerate(events):
            self.files["events.ndjson"] += json_bytes({"n": n, **event}) + b"\n"


def _began(task: str, attempt: int, checkpoint: int) -> dict[str, Any]:
    fields = {"task": task, "attempt": attempt, "host": "host-0", "standby": False, "checkpoint": checkpoint}
    return {"t_us": 0, "type": "attempt-started", **fields}


def _rebased(graph: Graph, task: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """The task's own snapshot with buffers numbered from 0; for the others, that they have nothing."""
    shape = graph.task(task)
    empty: dict[str, Any] = {
        "operator": {},
        "timers": [],
        "watermarks": {},
        "idle": {},
        "inputs": {},
        "outputs": {},
        "source": {} if shape.inputs else {"offset": 0},
        "services": {},
        "transactions": [],
    }
    made = {**empty, **(state or {}), "transactions": []}
    for name in ("watermarks", "idle"):
        made[name] = {channel: value for channel, value in made[name].items() if channel in shape.inputs}
    made["inputs"] = dict.fromkeys(shape.inputs, 0)
    made["outputs"] = dict.fromkeys((one.channel for one in shape.outputs), 0)
    return made
