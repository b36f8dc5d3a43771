"""What a world recorded, read back from its members: the checks look at bytes, not at the engine's own objects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame, read_buffers, read_receipts, read_sendings
from replay.model import Graph, Manifest, TaskId
from replay.recovery import Logs
from replay.simulation.site import Hosting


@dataclass(frozen=True, slots=True)
class Asked:
    """What the world outside itself says that it was asked: how often in all, and each call with an effect."""

    calls: int = 0
    writes: Mapping[tuple[str, bytes], int] = field(default_factory=dict)


class Recording:
    """Members in memory; what was read of them once is kept."""

    def __init__(
        self,
        manifest: Manifest,
        members: Mapping[str, bytes | bytearray],
        returned: Sequence[tuple[TaskId, int, Logs]],
        asked: Asked | None = None,
        hosting: Hosting | None = None,
    ):
        self.manifest = manifest
        self.graph = Graph(manifest)
        self.members = members
        self.returned = returned
        self.asked = asked or Asked()
        self.hosting = hosting or Hosting()
        self.events = [json.loads(line) for line in bytes(members["events.ndjson"]).splitlines()]
        self._epochs = _epochs_by_folder(members)
        self._buffers: dict[tuple[str, int, int], dict[int, BufferFrame]] = {}
        self._receipts: dict[tuple[str, int, int], list[ReceiptFrame]] = {}
        self._states: dict[tuple[str, int], dict[str, Any]] = {}

    # --- attempts ---

    @cached_property
    def starts(self) -> dict[str, list[dict[str, Any]]]:
        """The `attempt-started` events of each task."""
        found: dict[str, list[dict[str, Any]]] = {task.id: [] for task in self.manifest.tasks}
        for one in self.events:
            if one["type"] == "attempt-started":
                found[one["task"]].append(one)
        return found

    @cached_property
    def _events_at(self) -> dict[tuple[str, int], list[dict[str, Any]]]:
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for one in self.events:
            if "at" in one:
                found.setdefault((one["at"], one["attempt"]), []).append(one)
        return found

    def events_at(self, task: str, attempt: int) -> Sequence[dict[str, Any]]:
        """What an attempt itself told."""
        return self._events_at.get((task, attempt), ())

    def attempts(self, task: str) -> int:
        """How many attempts the task had."""
        return len(self.starts[task])

    def restored(self, task: str, attempt: int) -> int:
        """The checkpoint that an attempt began from."""
        return int(self.starts[task][attempt]["checkpoint"])

    def lineages(self, task: str) -> list[list[int]]:
        """The task's attempts, as chains that a rollback cuts."""
        chains: list[list[int]] = []
        for one in self.starts[task]:
            if "rollback" in one or not chains:
                chains.append([])
            chains[-1].append(one["attempt"])
        return chains

    def lineage(self, task: str, attempt: int) -> list[int]:
        """The chain that an attempt belongs to."""
        return next(chain for chain in self.lineages(task) if attempt in chain)

    @cached_property
    def ends(self) -> dict[tuple[str, int], int]:
        """Where among the events an attempt failed or was rolled back; the others lived to the end."""
        found: dict[tuple[str, int], int] = {}
        for one in self.events:
            if one["type"] == "task-failed":
                found[one["task"], one["attempt"]] = one["n"]
            elif one["type"] == "attempt-started" and one["attempt"]:
                found.setdefault((one["task"], one["attempt"] - 1), one.get("rollback", one["n"]))
        return found

    def outliving(self, task: str, other: str, attempt: int) -> Iterator[int]:
        """The attempts of `task` that still lived when that attempt of the other task ended, if it ever did."""
        forever = len(self.events)
        over = self.ends.get((other, attempt), forever)
        for one in range(self.attempts(task)):
            if self.starts[task][one]["n"] <= over and self.ends.get((task, one), forever + 1) > over:
                yield one

    @cached_property
    def escalated(self) -> list[dict[str, Any]]:
        """The recoveries that may have to contradict a survivor."""
        return [one for one in self.events if one["type"] == "escalated"]

    @property
    def rolled_back(self) -> bool:
        """Whether there was a global rollback."""
        return any(one["type"] == "global-rollback" for one in self.events)

    def failed(self, tasks: Sequence[str]) -> bool:
        """Whether one of these tasks failed."""
        return any(one["type"] == "task-failed" and one["task"] in tasks for one in self.events)

    # --- members ---

    def buffers(self, task: str, attempt: int, k: int) -> dict[int, BufferFrame]:
        """By sequence number."""
        key = (task, attempt, k)
        if key not in self._buffers:
            files = self._files(task, attempt, f"sent-{k}", "buf")
            frames = (frame for epoch, data in files for _, frame in read_buffers(data, epoch=epoch))
            self._buffers[key] = {frame.seq: frame for frame in frames}
        return self._buffers[key]

    def receipts(self, task: str, attempt: int, i: int) -> list[ReceiptFrame]:
        """In the order taken; what was never taken last, of each epoch."""
        key = (task, attempt, i)
        if key not in self._receipts:
            files = self._files(task, attempt, f"received-{i}", "rcv")
            self._receipts[key] = [frame for _, data in files for _, frame in read_receipts(data)]
        return self._receipts[key]

    def sendings(self, task: str, attempt: int, k: int) -> list[SendingFrame]:
        """Every sending of a buffer on that output."""
        files = self._files(task, attempt, f"sent-{k}", "dlt")
        return [frame for _, data in files for _, frame in read_sendings(data)]

    def world(self, task: str, attempt: int) -> list[tuple[int, bytes]]:
        """What an attempt left with the outside world or the stable storage, by epoch."""
        return list(self._files(task, attempt, "world", "dlt"))

    def epochs(self, task: str, attempt: int, thread: str) -> list[int]:
        """The epochs of one of the attempt's own logs."""
        return self._epochs.get((f"tasks/{task}/{attempt}/{thread}", "det"), [])

    def log(self, task: str, attempt: int, thread: str, epoch: int) -> bytes:
        """An epoch of one of the attempt's own logs."""
        return bytes(self.members.get(f"tasks/{task}/{attempt}/{thread}/{epoch}.det", b""))

    def sink_lines(self, task: str, attempt: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """What a sink gave to the outside, with the epoch that it was in."""
        return self._lines(task, attempt, "sink")

    def _lines(self, task: str, attempt: int, folder: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for epoch, data in self._files(task, attempt, folder, "ndjson"):
            for line in data.splitlines():
                yield epoch, json.loads(line)

    def _files(self, task: str, attempt: int, folder: str, suffix: str) -> Iterator[tuple[int, bytes]]:
        path = f"tasks/{task}/{attempt}/{folder}"
        for epoch in self._epochs.get((path, suffix), ()):
            yield epoch, bytes(self.members[f"{path}/{epoch}.{suffix}"])

    # --- checkpoints and what they must hold ---

    @cached_property
    def completed(self) -> list[int]:
        """The checkpoints that completed, in that order."""
        return [one["checkpoint"] for one in self.events if one["type"] == "checkpoint-completed"]

    def completed_before(self, n: int) -> list[int]:
        """Those that had completed before that event."""
        return [one["checkpoint"] for one in self.events if one["type"] == "checkpoint-completed" and one["n"] < n]

    @cached_property
    def _acknowledged(self) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        open_until = {one["checkpoint"]: one["n"] for one in self.events if one["type"] == "checkpoint-completed"}
        for one in self.events:
            if one["type"] == "checkpoint-acknowledged" and one["n"] < open_until.get(one["checkpoint"], 0):
                key = one["task"], one["checkpoint"]
                found[key] = max(one["attempt"], found.get(key, 0))  # one that is fenced may say so too, in vain
        return found

    def state(self, task: str, checkpoint: int) -> dict[str, Any]:
        """The task's snapshot of a checkpoint that completed; empty for the initial state."""
        if not checkpoint:
            return {}
        key = (task, checkpoint)
        if key not in self._states:
            self._states[key] = json.loads(self._snapshot(task, checkpoint))
        return self._states[key]

    def _snapshot(self, task: str, checkpoint: int) -> bytes:
        return bytes(self.members[f"tasks/{task}/{self._acknowledged[task, checkpoint]}/state/{checkpoint}.json"])

    def state_bytes(self, task: str, checkpoint: int) -> int:
        """What the task's snapshot of a completed checkpoint weighs; 0 of the initial state."""
        return len(self._snapshot(task, checkpoint)) if checkpoint else 0

    def restored_state(self, task: str, attempt: int) -> dict[str, Any]:
        """What an attempt began from."""
        return self.state(task, self.restored(task, attempt))

    @cached_property
    def sources(self) -> list[TaskId]:
        """The tasks without inputs."""
        return [task.id for task in self.manifest.tasks if not task.inputs]

    @cached_property
    def source_records(self) -> dict[tuple[str, int], list[Any]]:
        """(key, timestamp, value) of all that the sources read, by task and offset."""
        found = {
            (task, line["offset"]): line["record"]
            for task in self.sources
            for attempt in range(self.attempts(task))
            for _, line in self._lines(task, attempt, "source")
        }
        return dict(sorted(found.items()))

    @cached_property
    def source_keys(self) -> dict[str, dict[int, str]]:
        """The keys of each source task's records, by offset."""
        found: dict[str, dict[int, str]] = {task: {} for task in self.sources}
        for (task, offset), record in self.source_records.items():
            found[task][offset] = record[0]
        return found

    def source_offsets(self, task: str, attempt: int) -> list[int]:
        """The offsets that an attempt of a source read."""
        return [line["offset"] for _, line in self._lines(task, attempt, "source")]

    def expected_keys(self, checkpoint: int) -> dict[str, Counter[str]]:
        """How often each vertex has seen each key, by the offsets of the sources in that checkpoint."""
        seen: dict[str, Counter[str]] = {vertex.id: Counter() for vertex in self.manifest.vertices}
        for task in self.sources:
            offset = self.state(task, checkpoint)["source"]["offset"]
            keys = self.source_keys[task]
            seen[self.graph.task(task).vertex].update(keys[one] for one in keys if one < offset)
        for vertex in self._vertices_in_order:
            for edge in self.manifest.edges:
                if edge.target == vertex:
                    times = self._parallelism[vertex] if edge.ship == "broadcast" else 1
                    for key, count in seen[edge.source].items():
                        seen[vertex][key] += count * times
        return seen

    def expected_timers(self, vertex: str, checkpoint: int) -> int:
        """How many records that timers emitted upstream have come to a vertex by then."""
        count = 0
        for edge in self.manifest.edges:
            if edge.target == vertex:
                states = (self.state(task, checkpoint)["operator"] for task in self.tasks_of(edge.source))
                emitted = sum(state.get("fired", 0) + state.get("timer_records", 0) for state in states)
                count += emitted * (self._parallelism[vertex] if edge.ship == "broadcast" else 1)
        return count

    def ways_to(self, target: str) -> dict[str, int]:
        """On how many ways a record of each vertex arrives at that one."""
        ways = {vertex.id: 0 for vertex in self.manifest.vertices} | {target: 1}
        for vertex in reversed(self._vertices_in_order):
            for edge in self.manifest.edges:
                if edge.source == vertex:
                    times = self._parallelism[edge.target] if edge.ship == "broadcast" else 1
                    ways[vertex] += ways[edge.target] * times
        return ways

    @cached_property
    def _vertices_in_order(self) -> list[str]:
        return list(dict.fromkeys(self.graph.task(task).vertex for task in self.graph.order))

    @cached_property
    def _parallelism(self) -> dict[str, int]:
        return {vertex.id: vertex.parallelism for vertex in self.manifest.vertices}

    def tasks_of(self, vertex: str) -> list[TaskId]:
        """A vertex's tasks."""
        return [task.id for task in self.manifest.tasks if task.vertex == vertex]


def _epochs_by_folder(members: Mapping[str, Any]) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for name in members:
        folder, _, file = name.rpartition("/")
        epoch, _, suffix = file.partition(".")
        if epoch.isdigit():
            found.setdefault((folder, suffix), []).append(int(epoch))
    return {key: sorted(epochs) for key, epochs in found.items()}
