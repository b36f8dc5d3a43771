"""Writes what segments hold as a bundle: one task per partition, attempts side by side, gaps as events."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clonoscope import fitting
from clonoscope.fitting import UNNAMED, Names, TooManyMembers, first_epochs, takes
from clonoscope.json_values import json_in
from clonoscope.reading import AttemptLog, Entry, Process, attempts_of, processes_of
from clonoscope.recording import OUTSIDE
from clonoscope.shapes import of_record, writable
from replay.bundle.writer import BundleWriter
from replay.errors import ReplayError
from replay.log.codec import encode
from replay.log.determinants import Serializable
from replay.model import Clock, Job, Manifest, Protocol, Task, TaskId, Vertex, json_bytes

RECORDER = "clonoscope 0.1.0"
_CALL = 3  # the content type of a call
_KILLED = "its process ended without a word"


def publish(folder: Path, out: str | os.PathLike[str] | None = None) -> Path:
    """The bundle of a recording's folder. Raises `ReplayError` where nothing is recorded, or `out` can't be written."""
    attempts = attempts_of(folder)
    if not attempts:
        raise ReplayError(
            "nothing is recorded here yet", path=str(folder), remedy="Record with clonoscope.start, then dump again"
        )
    attempts, left = fitting.fitting(attempts)
    target = Path(out) if out is not None else next_dump(folder)
    try:
        return _written(folder, target, attempts, left, {})
    except TooManyMembers:
        return _written(folder, target, attempts, left, first_epochs(attempts))


def _written(
    folder: Path, target: Path, attempts: Sequence[AttemptLog], left: Sequence[str], first: Mapping[str, int]
) -> Path:
    with BundleWriter(target) as writer:
        publisher = _Publisher(writer, processes_of(folder), first)
        for log, after in zip(attempts, [*attempts[1:], None], strict=True):
            publisher.attempt(log, after if after is not None and after.task == log.task else None)
        publisher.tell_left(left)
        publisher.write_events()
        return writer.close(publisher.manifest(folder.name))


def next_dump(folder: Path) -> Path:
    """Where a bundle goes that nobody has named: among the recording's dumps, by the time."""
    dumps = folder / "dumps"
    try:
        dumps.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ReplayError(f"no folder for dumps can be made: {fault.strerror}", path=str(dumps)) from fault
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
    names = (f"{folder.name}-{stamp}{more}.zip" for more in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(dumps / name for name in names if not (dumps / name).exists())


@dataclass(slots=True)
class _Told:
    """An event, before all are put into order."""

    at_us: int
    type: str
    fields: dict[str, Any]


@dataclass(slots=True)
class _OfTask:
    """What is known of a task over its attempts. `begins`: at which of its records an epoch begins."""

    vertex: str
    subtask: int
    operator: str
    partitions: dict[str, int] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)
    # Of the attempt before, as failures are numbered.
    failure: int | None = None
    end: int = 0
    # How many there are, and where the last one ended.
    attempts: int = 0
    epoch: int = 0
    offset: int = 0
    named: tuple[str, ...] = ()

    def index(self, place: dict[str, Any]) -> int:
        name = f"{place['topic']}[{place['partition']}]" if place["topic"] else str(place["partition"])
        return self.partitions.setdefault(name, len(self.partitions))


class _Publisher:
    def __init__(self, writer: BundleWriter, processes: list[Process], first: Mapping[str, int]):
        """`first`: the epoch of a task that its members begin with, where there is no room for those before."""
        self.writer = writer
        self.first = first
        self.members = 0
        self.processes = processes
        started = [one.described["started_us"] for one in processes if "started_us" in one.described]
        self.origin_us = min(started, default=0) // 1000 * 1000
        self.by_token = {one.token: one for one in processes}
        self.tasks: dict[str, _OfTask] = {}
        self.told: list[_Told] = []
        self.failures = 0

    def attempt(self, log: AttemptLog, after: AttemptLog | None) -> None:
        """All members of an attempt; `after` is the next of its task."""
        _Members(self, log).write(after)
        self.tasks[log.task].attempts = log.attempt + 1

    def tell_left(self, left: Sequence[str]) -> None:
        """What is not in the bundle is missing where nobody is at work."""
        for why in left:
            outside = self.tasks.setdefault(f"{OUTSIDE}.0", _OfTask(OUTSIDE, 0, ""))
            self._tell_gap(outside, why)
        names = Names()
        for one in self.tasks.values():
            one.named = names.of(tuple(one.partitions))
            if unnamed := one.named.count(UNNAMED):
                self._tell_gap(one, f"{unnamed:,} of its inputs are not named, as a manifest has no room for them")

    def _tell_gap(self, one: _OfTask, why: str) -> None:
        attempt = max(one.attempts - 1, 0)
        at_us = max((told.at_us for told in self.told), default=self.origin_us)
        task = f"{one.vertex}.{one.subtask}"
        if not one.attempts:
            one.attempts = 1
            self.writer.append(f"tasks/{task}/0/main/0.det", b"")
            self.tell(at_us, "attempt-started", task=task, attempt=0, host="", standby=False, checkpoint=0)
        self.tell(at_us, "gap", task=task, attempt=attempt, thread="main", epoch=one.epoch, offset=one.offset, why=why)

    def tell(self, at_us: int, kind: str, **fields: Any) -> None:
        self.told.append(_Told(at_us, kind, fields))

    def since_origin(self, at_us: int) -> int:
        return max(at_us - self.origin_us, 0)

    def write_events(self) -> None:
        """In the order of time; one attempt's own in the order that they were told."""
        self.told.sort(key=lambda one: one.at_us)
        for n, one in enumerate(self.told):
            line = {"n": n, "t_us": self.since_origin(one.at_us), "type": one.type, **one.fields}
            self.writer.append("events.ndjson", json_bytes(line) + b"\n")

    def manifest(self, name: str) -> Manifest:
        described = [one.described for one in self.processes]
        vertices: dict[str, Vertex] = {}
        for one in self.tasks.values():
            before = vertices.get(one.vertex)
            most = max(one.subtask + 1, 0 if before is None else before.parallelism)
            vertices[one.vertex] = Vertex(one.vertex, "operator", one.operator, parallelism=most)
        tasks = tuple(
            Task(TaskId(f"{one.vertex}.{one.subtask}"), one.vertex, one.subtask, number, partitions=one.named)
            for number, one in enumerate(self.tasks.values())
        )
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        redactions = sorted({path for one in described for path in one.get("redactions", ())})
        return Manifest(
            Job(name, RECORDER, now),
            Clock(self.origin_us // 1000, "wall"),
            Protocol("none", sharing_depth=0, observed=True),
            tuple(vertices.values()),
            (),
            tasks,
            determinants="extended",
            complete=all(one.closed for one in self.processes),
            raw={
                "code": next((one["code"] for one in described[-1:] if writable(one.get("code"))), {}),
                "redactions": redactions,
                "processes": {
                    "alive": sum(one.alive for one in self.processes),
                    "killed": sum(not one.alive and not one.closed for one in self.processes),
                },
                **_retries(described),
            },
        )


class _Members:
    """One attempt's folder."""

    def __init__(self, publisher: _Publisher, log: AttemptLog):
        self.publisher, self.log = publisher, log
        meta = log.meta
        self.task = publisher.tasks.setdefault(
            log.task, _OfTask(str(meta["vertex"]), int(meta["subtask"]), str(meta.get("operator", "")))
        )
        self.folder = f"tasks/{log.task}/{log.attempt}"
        # What was recorded before the first epoch belongs to it: a task's opening.
        self.epoch = int(meta.get("restored") or 0)
        self.offset = 0
        # Records are counted over the task: at which of them this attempt begins.
        self.base = self._beginning() - int(meta["taken"])
        self.taken = self.base + int(meta["taken"])
        self.records: dict[tuple[int, int], Any] = {}
        self.first = publisher.first.get(log.task, 0)
        # Of members that this epoch has.
        self.names: set[str] = set()
        self.lines = 0
        self.ended: dict[str, Any] | None = None
        self.last_us = int(meta["at_us"])

    def _beginning(self) -> int:
        """At which record of the task this attempt begins: where its first epoch began before, or after the last."""
        begins = self.task.begins
        if self.epoch in begins:
            return begins[self.epoch]
        return self.task.end if any(epoch < self.epoch for epoch in begins) else 0

    @property
    def process(self) -> Process | None:
        """Who records; an attempt that is handed on has several."""
        return self.publisher.by_token.get(self.log.process or self.log.meta["process"])

    @property
    def host(self) -> str:
        return str(self.process.described.get("host", "")) if self.process else ""

    def write(self, after: AttemptLog | None) -> None:
        self._tell_start()
        for entry in self.log.entries():
            self.last_us = max(self.last_us, entry.at_us)
            self.taken = self.base + entry.taken
            _WRITERS[entry.kind](self, entry)
        for _, site in sorted(self.log.sites.items()):
            self._append("sites.ndjson", json_bytes(site) + b"\n")
        if not self.offset:
            self._append(f"main/{self.epoch}.det", b"")
        self.task.end = max(self.task.end, self.taken)
        self.task.epoch, self.task.offset = self.epoch, self.offset
        self._tell_end(after)

    def _append(self, name: str, data: bytes) -> None:
        if self.epoch < self.first:
            return
        if name not in self.names:
            self.names.add(name)
            self.publisher.members += 1
            if self.publisher.members > fitting.MEMBERS_MOST and not self.publisher.first:
                raise TooManyMembers
        self.publisher.writer.append(f"{self.folder}/{name}", data)

    def _tell(self, at_us: int, kind: str, **fields: Any) -> None:
        named = {"task": self.log.task, "attempt": self.log.attempt}
        self.publisher.tell(at_us, kind, **named, **fields)

    def _tell_start(self) -> None:
        after = {} if self.task.failure is None else {"failure": self.task.failure}
        because = {"why": self.log.meta["because"]} if self.log.attempt and "because" in self.log.meta else {}
        self._tell(
            int(self.log.meta["at_us"]),
            "attempt-started",
            host=self.host,
            standby=False,
            checkpoint=self.epoch,
            **after,
            **because,
        )

    def _tell_end(self, after: AttemptLog | None) -> None:
        """A log that nobody closed, of a process that is gone: something killed it. One that rests is over where
        another attempt follows."""
        how = (self.ended or {}).get("how")
        over = how in ("closed", "handed-over") or (how is None and self.process is not None and self.process.alive)
        cause = (self.ended or {}).get("cause") or _KILLED
        if self.log.rests and self.ended is None:
            over = after is None
            if after is not None:
                how = "superseded"
                self.last_us = max(self.last_us, int(after.meta["at_us"]))
                cause = after.meta.get("because") or f"epoch {after.meta.get('restored')} was executed once more"
        self.task.failure = None
        if not over and not self.log.meta.get("lost"):
            self.task.failure = self.publisher.failures
            told = {"failure": self.publisher.failures, "host": self.host, "cause": cause, "how": how or "killed"}
            self._tell(self.last_us, "task-failed", **told)
            self.publisher.failures += 1

    # --- entries ---

    def _det(self, data: bytes) -> None:
        self._append(f"main/{self.epoch}.det", data)
        self.offset += len(data)

    def call(self, entry: Entry) -> None:
        self._det(encode(Serializable.of(_CALL, json_bytes(entry.fields))))

    def take(self, entry: Entry) -> None:
        number, first, records = entry.fields["input"], entry.fields["first"], entry.fields["records"]
        place = self.log.inputs.get(number, {"topic": "", "partition": number})
        for one in takes(self.task.index(place), first, records):
            self._det(encode(one))
        if records > fitting.LINES_MOST:
            self._gap(
                entry.at_us, f"{records:,} records were taken at once, and there are lines for {fitting.LINES_MOST:,}"
            )
            return
        t_us = self.publisher.since_origin(entry.at_us)
        offset = self.base + entry.taken - records
        for at in range(first, first + records):
            record = self.records.pop((number, at), None)
            ref = {"topic": place["topic"], "partition": place["partition"], "offset": at}
            line = {"offset": offset + at - first, "t_us": t_us} | (
                {"ref": ref} if record is None else of_record(record)
            )
            self._append(f"source/{self.epoch}.ndjson", json_bytes(line) + b"\n")

    def record(self, entry: Entry) -> None:
        """Kept until its run of records is over."""
        self.records[entry.fields["input"], entry.fields["offset"]] = entry.fields["record"]

    def hash(self, entry: Entry) -> None:
        """Of a run of records: a member of its own, as the format has only hashes of single records."""
        place = self.log.inputs.get(entry.fields["input"], {"topic": "", "partition": entry.fields["input"]})
        line = {name: entry.fields[name] for name in ("first", "records", "sha256", "keyed") if name in entry.fields}
        line |= {"input": self.task.index(place), "topic": place["topic"], "partition": place["partition"]}
        self._append(f"inputs/{self.epoch}.ndjson", json_bytes(line) + b"\n")

    def gap(self, entry: Entry) -> None:
        self._gap(entry.at_us, entry.fields["why"])

    def _gap(self, at_us: int, why: str) -> None:
        self._tell(at_us, "gap", thread="main", epoch=self.epoch, offset=self.offset, why=why)

    def epoch_began(self, entry: Entry) -> None:
        if entry.fields["epoch"] != self.epoch:
            self.offset = 0
            self.names.clear()
        before, self.epoch = self.epoch, entry.fields["epoch"]
        if before < self.first <= self.epoch:
            self._gap(entry.at_us, f"a bundle has no room for members of epochs before {self.first:,}")
        self.task.begins.setdefault(self.epoch, self.taken)

    def epoch_ended(self, entry: Entry) -> None:
        checkpoint = entry.fields.get("checkpoint", self.epoch + 1)
        self._tell(entry.at_us, "checkpoint-acknowledged", checkpoint=checkpoint)

    def output(self, entry: Entry) -> None:
        fields = entry.fields
        last = [[self.log.task, self.taken - 1]] if self.taken else []
        source = fields.get("source", [[self.log.task, self.base + fields["of"]]] if "of" in fields else last)
        record = fields["record"] if "record" in fields else [json_in(one) for one in fields["text"]]
        line = {"n": self.lines, "t_us": self.publisher.since_origin(entry.at_us), **of_record(record)}
        line |= {"source": source} | {name: fields[name] for name in ("id", "topic") if name in fields}
        self.lines += 1
        self._append(f"sink/{self.epoch}.ndjson", json_bytes(line) + b"\n")

    def border(self, entry: Entry) -> None:
        """What passed between an engine and a function, in its order."""
        self._append(f"border/{self.epoch}.ndjson", json_bytes(entry.fields) + b"\n")

    def state(self, entry: Entry) -> None:
        state = {"operator": entry.fields["state"], "timers": [], "watermarks": {}, "idle": {}, "inputs": {}}
        state |= {"outputs": {}, "source": {}, "services": {}, "transactions": []}
        self._append(f"state/{entry.fields['checkpoint']}.json", json_bytes(state))

    def end(self, entry: Entry) -> None:
        self.ended = entry.fields

    def event(self, entry: Entry) -> None:
        fields = {key: value for key, value in entry.fields.items() if key not in ("type", "at_us")}
        if entry.fields["type"] == "outputs-sent":
            fields |= {"attempt": self.log.attempt, "outputs": self.lines}
        self.publisher.tell(entry.at_us, entry.fields["type"], **fields)


def _retries(described: list[dict[str, Any]]) -> dict[str, Any]:
    """How what is executed once more is answered: the weakest of what any of the processes was told."""
    told = [one.get("retry") or {} for one in described]
    if not any(one.get("retry") for one in told):
        return {}
    return {
        "retry": {
            "mode": "replay",
            "always": all(one.get("retry") for one in told),
            "sync": all(one.get("sync") for one in told),
        }
    }


_WRITERS: dict[str, Callable[[_Members, Entry], None]] = {
    "record": _Members.record,
    "hash": _Members.hash,
    "call": _Members.call,
    "take": _Members.take,
    "gap": _Members.gap,
    "epoch": _Members.epoch_began,
    "epoch-end": _Members.epoch_ended,
    "output": _Members.output,
    "border": _Members.border,
    "state": _Members.state,
    "end": _Members.end,
    "event": _Members.event,
    "seen": lambda _members, _entry: None,  # for retries here, and none of a bundle's
}
