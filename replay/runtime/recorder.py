"""Writes down what happens, as members of a bundle: what an attempt appended, cut, sent, received, took and wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Protocol

from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame
from replay.log.thread_log import ThreadLog
from replay.model import Record, TaskId, json_bytes


class Members(Protocol):
    """Where members go: a bundle writer, or memory."""

    def append(self, name: str, data: bytes) -> None:
        """Appends to a member, which begins to exist with its first append."""


class MemoryMembers:
    """A bundle in memory, for worlds that are looked at and forgotten."""

    def __init__(self) -> None:
        self.members: dict[str, bytearray] = {}

    def append(self, name: str, data: bytes) -> None:
        """Appends to a member."""
        self.members.setdefault(name, bytearray()).extend(data)


class Recorder:
    """The one place that knows how members are named and filled."""

    def __init__(self, members: Members | None):
        """`members` None: the run is measured, not recorded; only its events are counted."""
        self._members = members
        self.events = 0
        self.sizes: dict[str, int] = defaultdict(int)

    def attempt(self, task: TaskId, attempt: int) -> AttemptRecorder:
        """The folder of an attempt."""
        return AttemptRecorder(self, task, attempt) if self._members else _Unrecorded(self, task, attempt)

    def append(self, kind: str, name: str, data: bytes) -> None:
        """Appends to a member; `kind` is its suffix, by which bytes are counted."""
        if self._members is not None:
            self._members.append(name, data)
            self.sizes[kind] += len(data)

    def event(self, t_us: int, kind: str, fields: Mapping[str, Any]) -> int:
        """Writes an event; returns its number, for what it causes. Fields that are None are left out."""
        n = self.events
        self.events += 1
        line = {"n": n, "t_us": t_us, "type": kind, **{k: v for k, v in fields.items() if v is not None}}
        self.append("ndjson", "events.ndjson", json_bytes(line) + b"\n")
        return n


class AttemptRecorder:
    """The folder of one attempt."""

    def __init__(self, recorder: Recorder, task: TaskId, attempt: int):
        self._append = recorder.append
        self._folder = f"tasks/{task}/{attempt}"
        self._archived: set[tuple[str, int]] = set()
        self._sink_lines = 0

    def log(self, thread: str, epoch: int, data: bytes) -> None:
        """A whole epoch of one of the attempt's own thread logs."""
        if (thread, epoch) not in self._archived:
            self._archived.add((thread, epoch))
            self._append("det", f"{self._folder}/{thread}/{epoch}.det", data)

    def logs(self, own: Mapping[str, ThreadLog], before_epoch: int | None = None) -> None:
        """The epochs that are about to be truncated, or all."""
        for thread, log in own.items():
            for epoch, data in log.since(0):
                if before_epoch is None or epoch < before_epoch:
                    self.log(thread, epoch, data)
        if before_epoch is not None:
            # What is truncated is never offered again: remembering it would grow with the run.
            self._archived = {one for one in self._archived if one[1] >= before_epoch}

    def buffer(self, k: int, frame: BufferFrame) -> None:
        """A buffer was cut."""
        self._append("buf", f"{self._folder}/sent-{k}/{frame.epoch}.buf", frame.to_bytes())

    def sending(self, k: int, epoch: int, frame: SendingFrame) -> None:
        """A buffer was sent."""
        self._append("dlt", f"{self._folder}/sent-{k}/{epoch}.dlt", frame.to_bytes())

    def receipt(self, i: int, epoch: int, frame: ReceiptFrame) -> None:
        """A buffer was taken, or never will be."""
        self._append("rcv", f"{self._folder}/received-{i}/{epoch}.rcv", frame.to_bytes())

    def state(self, checkpoint: int, data: bytes) -> None:
        """A snapshot is safe."""
        self._append("json", f"{self._folder}/state/{checkpoint}.json", data)

    def source(self, epoch: int, offset: int, t_us: int, record: Record) -> None:
        """A source read a record of its partition."""
        line = {"offset": offset, "t_us": t_us, "record": record[:3]}
        self._append("ndjson", f"{self._folder}/source/{epoch}.ndjson", json_bytes(line) + b"\n")

    def world(self, epoch: int, frame: SendingFrame) -> None:
        """Determinants were left with the outside world."""
        self._append("dlt", f"{self._folder}/world/{epoch}.dlt", frame.to_bytes())

    def sink(self, epoch: int, t_us: int, record: Record, **marks: Any) -> None:
        """The outside world accepted a record; `marks` are its `txn` or `id`."""
        line = {"n": self._sink_lines, "t_us": t_us, "record": record[:3], "source": record[3] or (), **marks}
        self._sink_lines += 1
        self._append("ndjson", f"{self._folder}/sink/{epoch}.ndjson", json_bytes(line) + b"\n")


class _Unrecorded(AttemptRecorder):
    """Of a run that is only measured: nothing is made that nobody keeps."""

    def logs(self, own: Mapping[str, ThreadLog], before_epoch: int | None = None) -> None:
        return

    def buffer(self, k: int, frame: BufferFrame) -> None:
        return

    def sending(self, k: int, epoch: int, frame: SendingFrame) -> None:
        return

    def receipt(self, i: int, epoch: int, frame: ReceiptFrame) -> None:
        return

    def state(self, checkpoint: int, data: bytes) -> None:
        return

    def source(self, epoch: int, offset: int, t_us: int, record: Record) -> None:
        return

    def world(self, epoch: int, frame: SendingFrame) -> None:
        return

    def sink(self, epoch: int, t_us: int, record: Record, **marks: Any) -> None:
        return
