"""What a world recorded, read back from its members: the checks look at bytes, not at the engine's own objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.bundle.frames import BufferFrame, ReceiptFrame, read_buffers, read_receipts
from replay.model import Graph, Manifest, TaskId
from replay.recovery import Logs


class Recording:
    """Members in memory."""

    def __init__(
        self,
        manifest: Manifest,
        members: Mapping[str, bytes | bytearray],
        returned: Sequence[tuple[TaskId, int, Logs]],
    ):
        self.manifest = manifest
        self.graph = Graph(manifest)
        self.members = members
        self.returned = returned
        self.events = [json.loads(line) for line in bytes(members["events.ndjson"]).splitlines()]
        self._epochs = _epochs_by_folder(members)
        self._buffers: dict[tuple[str, int, int], dict[int, BufferFrame]] = {}

    def attempts(self, task: str) -> int:
        """How many attempts the task had."""
        return sum(1 for one in self.events if one["type"] == "attempt-started" and one["task"] == task)

    def lineages(self, task: str) -> list[list[int]]:
        """The task's attempts, as chains that a rollback cuts."""
        chains: list[list[int]] = []
        for one in self.events:
            if one["type"] == "attempt-started" and one["task"] == task:
                if "rollback" in one or not chains:
                    chains.append([])
                chains[-1].append(one["attempt"])
        return chains

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
        return [
            frame for _, data in self._files(task, attempt, f"received-{i}", "rcv") for _, frame in read_receipts(data)
        ]

    def log(self, task: str, attempt: int, thread: str, epoch: int) -> bytes:
        """An epoch of one of the attempt's own logs."""
        return bytes(self.members.get(f"tasks/{task}/{attempt}/{thread}/{epoch}.det", b""))

    def lines(self, task: str, attempt: int, kind: str) -> Iterator[dict[str, Any]]:
        """Of `source/` or `sink/`."""
        for _, data in self._files(task, attempt, kind, "ndjson"):
            yield from map(json.loads, data.splitlines())

    def last_state(self, task: str) -> dict[str, Any]:
        """The snapshot of the last checkpoint that completed."""
        checkpoint = max(one["checkpoint"] for one in self.events if one["type"] == "checkpoint-completed")
        attempt = next(
            one["attempt"]
            for one in reversed(self.events)
            if one["type"] == "checkpoint-acknowledged" and one["task"] == task and one["checkpoint"] == checkpoint
        )
        state: dict[str, Any] = json.loads(bytes(self.members[f"tasks/{task}/{attempt}/state/{checkpoint}.json"]))
        return state

    def tasks_of(self, vertex: str) -> list[TaskId]:
        """A vertex's tasks."""
        return [task.id for task in self.manifest.tasks if task.vertex == vertex]

    @property
    def rolled_back(self) -> bool:
        """Whether there was a global rollback."""
        return any(one["type"] == "global-rollback" for one in self.events)

    def failed(self, tasks: Sequence[str]) -> bool:
        """Whether one of these tasks failed."""
        return any(one["type"] == "task-failed" and one["task"] in tasks for one in self.events)

    def _files(self, task: str, attempt: int, folder: str, suffix: str) -> Iterator[tuple[int, bytes]]:
        path = f"tasks/{task}/{attempt}/{folder}"
        for epoch in self._epochs.get((path, suffix), ()):
            yield epoch, bytes(self.members[f"{path}/{epoch}.{suffix}"])


def _epochs_by_folder(members: Mapping[str, Any]) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for name in members:
        folder, _, file = name.rpartition("/")
        epoch, _, suffix = file.partition(".")
        if epoch.isdigit():
            found.setdefault((folder, suffix), []).append(int(epoch))
    return {key: sorted(epochs) for key, epochs in found.items()}
