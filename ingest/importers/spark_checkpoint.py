"""A Structured Streaming checkpoint as a bundle: batch n is epoch n, and its commit completes checkpoint n+1."""

from __future__ import annotations

from typing import Any

from ingest.importers.checkpoint_files import CheckpointFiles, root_of
from ingest.importers.spark_query import Batch, Query, progress, read_query
from ingest.importers.spark_words import lacks, says
from replay.bundle.container import Container
from replay.bundle.limits import Limits
from replay.bundle.writer import BundleWriter
from replay.log.codec import encode
from replay.log.determinants import Serializable, Take, Timestamp
from replay.model import Clock, Job, Manifest, Protocol, Task, TaskId, Vertex, json_bytes

RECORDER = "spark checkpoint importer"
TOLD = "imported.json"
"""The member that says what was imported, for a job's page: see docs/importers.md."""
_JSON = 1
_SINK = "sink"
MOST_STATE_BYTES = 256 << 20


def is_checkpoint(names: set[str]) -> bool:
    """Whether members of these names are one."""
    return root_of(names) is not None


def write_bundle(container: Container, names: set[str], writer: BundleWriter, name: str, limits: Limits) -> None:
    """Reads the checkpoint and closes the writer over the bundle. Raises `BundleError` for what is damaged."""
    query = read_query(CheckpointFiles(container, root_of(names) or "", limits))
    _Writing(query, writer).write(name)


class _Writing:
    def __init__(self, query: Query, writer: BundleWriter) -> None:
        self.query, self.writer = query, writer
        self.origin_ms = min(one.planned_ms for one in query.batches)
        self.partitions: dict[int, list[str]] = {n: [] for n in range(query.sources)}
        self.state_bytes = 0
        self.states_left_out = 0

    def write(self, name: str) -> None:
        # Old batches are removed in time: the first that is left need not be the first that there was.
        begins = self.query.begins if self.query.batches[0].number == 0 else {}
        before = [begins.get(n) for n in range(self.query.sources)]
        for batch in self.query.batches:
            for n, offset in enumerate(batch.offsets):
                self._source(n, batch, before[n], offset)
                before[n] = offset if offset is not None else before[n]
            self._sink(batch)
        self._states()
        self._events()
        self._append(TOLD, json_bytes(self._told()))
        self.writer.close(self._manifest(name))

    def _append(self, name: str, data: bytes) -> None:
        self.writer.append(name, data)

    def _source(self, n: int, batch: Batch, before: Any, offset: Any) -> None:
        """Its log of the epoch: the clock when the batch was planned, how far it was to read, and what that took."""
        said = {"source": n, "offset": offset, "watermark_ms": batch.watermark_ms}
        listed = self.query.source_files.get((n, _log_offset(offset, batch.number)))
        if listed:
            said["files"] = listed
        if batch.number == 0 and n in self.query.begins:
            said["begins"] = self.query.begins[n]
        made = [encode(Timestamp(batch.planned_ms)), encode(Serializable.of(_JSON, json_bytes(said)))]
        for partition, first, records in progress(before, offset) or []:
            names = self.partitions[n]
            if partition not in names:
                names.append(partition)
            made.append(encode(Take(names.index(partition), first, records)))
        self._append(f"tasks/source-{n}.0/0/main/{batch.number}.det", b"".join(made))

    def _sink(self, batch: Batch) -> None:
        """What a file sink's own log accepted of the batch: files, not records."""
        for n, entry in enumerate(self.query.sink_files.get(batch.number, [])):
            changed_ms = entry.get("modificationTime")
            since_us = (changed_ms - self.origin_ms) * 1000 if type(changed_ms) is int else 0
            at_us = min(max(0, since_us), (1 << 62))
            line = {"n": n, "t_us": at_us, "record": [str(entry.get("path", "")), 0, entry], "source": []}
            self._append(f"tasks/{_SINK}.0/0/sink/{batch.number}.ndjson", json_bytes(line) + b"\n")

    def _states(self) -> None:
        """Newest first, so that what is left out of very large ones is the oldest."""
        names = {one.number: one.vertex for one in self.query.operators}
        found: dict[tuple[int, str], dict[str, Any]] = {}
        for (operator, number), partition in self.query.partitions.items():
            for store, versions in partition.versions.items():
                for version, rows in versions.items():
                    if version not in partition.unknown:
                        found.setdefault((version, f"{names[operator]}.{number}"), {})[store] = rows
        for (version, task), stores in sorted(found.items(), reverse=True):
            state: dict[str, Any] = {"operator": stores, "timers": [], "watermarks": {}, "idle": {}, "inputs": {}}
            data = json_bytes(state | {"outputs": {}, "source": {}, "services": {}, "transactions": []})
            self.state_bytes += len(data)
            if self.state_bytes > MOST_STATE_BYTES:
                self.states_left_out += 1
            else:
                self._append(f"tasks/{task}/0/state/{version}.json", data)

    def _events(self) -> None:
        tasks = [str(task.id) for task in self._tasks()]
        first = self.query.batches[0]
        told = [
            (first, {"type": "attempt-started", "task": task, "attempt": 0, "checkpoint": first.number})
            for task in tasks
        ]
        following = [*self.query.batches[1:], self.query.batches[-1]]
        written = self._written()
        for batch, after in zip(self.query.batches, following, strict=True):
            checkpoint = batch.number + 1
            # Planned for all sources at once; one of them tells, for events have one place.
            told.append(
                (batch, {"type": "checkpoint-triggered", "at": "source-0.0", "attempt": 0, "checkpoint": checkpoint})
            )
            told += [
                (after, {"type": "checkpoint-acknowledged", "task": task, "checkpoint": checkpoint})
                for task in written.get(checkpoint, [])
            ]
            if batch.committed:
                told.append((after, {"type": "checkpoint-completed", "checkpoint": checkpoint}))
        latest_us = 0
        for n, (batch, event) in enumerate(told):
            # Clocks of drivers may differ from one start to the next; the order of batches does not.
            latest_us = max(latest_us, (batch.planned_ms - self.origin_ms) * 1000)
            self._append("events.ndjson", json_bytes({"n": n, "t_us": latest_us, **event}) + b"\n")

    def _written(self) -> dict[int, list[str]]:
        """By checkpoint, the tasks whose state has files of that version."""
        names = {one.number: one.vertex for one in self.query.operators}
        found: dict[int, set[str]] = {}
        for (operator, number), partition in self.query.partitions.items():
            for version in {*partition.unknown, *(v for store in partition.versions.values() for v in store)}:
                found.setdefault(version, set()).add(f"{names[operator]}.{number}")
        return {version: sorted(tasks) for version, tasks in found.items()}

    def _told(self) -> dict[str, Any]:
        cannot = lacks(self.query)
        if self.states_left_out:
            cannot.insert(0, f"{self.states_left_out} older states of partitions are left out: the newest fill "
                             f"{MOST_STATE_BYTES >> 20} MiB.")  # fmt: skip
        return {
            "importer": RECORDER,
            "query": self.query.id,
            "says": says(self.query),
            "lacks": cannot,
            "batches": [
                {
                    "batch": one.number,
                    "planned_ms": one.planned_ms,
                    "watermark_ms": one.watermark_ms,
                    "next_watermark_ms": one.next_watermark_ms,
                    "committed": one.committed,
                    "offsets": one.offsets,
                }
                for one in self.query.batches
            ],
        }

    def _vertices(self) -> list[Vertex]:
        sources = [Vertex(f"source-{n}", "source") for n in range(self.query.sources)]
        operators = [Vertex(one.vertex, "operator", parallelism=one.partitions) for one in self.query.operators]
        return [*sources, *operators, *([Vertex(_SINK, "sink")] if self.query.sink_files else [])]

    def _tasks(self) -> list[Task]:
        places = [(vertex, subtask) for vertex in self._vertices() for subtask in range(vertex.parallelism)]
        return [
            Task(
                TaskId(f"{vertex.id}.{subtask}"),
                vertex.id,
                subtask,
                number,
                partitions=tuple(self.partitions[number]) if vertex.kind == "source" else (),
            )
            for number, (vertex, subtask) in enumerate(places)
        ]

    def _manifest(self, name: str) -> Manifest:
        return Manifest(
            Job(name, RECORDER),
            Clock(self.origin_ms, "wall"),
            Protocol("none", sharing_depth=0, observed=True),
            tuple(self._vertices()),
            (),
            tuple(self._tasks()),
            determinants="extended",
            complete=False,
        )


def _log_offset(offset: Any, batch: int) -> int:
    """A file source's offset numbers the entry of its own log; that number is the batch's own but for restarts."""
    found = offset.get("logOffset") if isinstance(offset, dict) else None
    return found if type(found) is int else batch
