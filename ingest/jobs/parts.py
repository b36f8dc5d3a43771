"""What a Spark task does: reads the units of its part from the pack and writes Parquet files of its own."""

from __future__ import annotations

import mmap
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.jobs.telling import BytesRead
from ingest.lake.manifest import LogSpan
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.writers import FileSummary, TableWriter
from ingest.transforms.channels import ChannelReader, ChannelSink, ChannelUnit
from ingest.transforms.determinants import DeterminantReader
from ingest.transforms.events import EventReader
from ingest.transforms.outside import LinesUnit, read_unit
from ingest.transforms.places import Flow, LogKey, Reject, Times
from ingest.transforms.planning import EventsUnit, LogUnit, Part
from replay.bundle.pack import Pack
from replay.log.deltas import LogIds
from replay.model import MAIN, Manifest

WORKER_DATA_BYTES = 2 << 30
"""What a worker may allocate: mapped files don't count, so a bundle may be larger."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """A part and where it is to be read and written."""

    part: Part
    pack: str
    staging: str
    manifest: Manifest
    telling: str | None = None
    """The folder in which it tells how far it is."""


@dataclass(slots=True)
class PartSummary:
    """What a part hands to the driver: no rows, only sums."""

    family: str
    number: int
    files: list[FileSummary] = field(default_factory=list)
    spans: list[LogSpan] = field(default_factory=list)
    counts: list[tuple[LogKey, str, int, int]] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    times: Times = field(default_factory=Times)
    last_us: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)


def run_part(task: PartTask) -> PartSummary:
    """Reads and writes one part. Doing it again replaces the same files."""
    _limit_memory()
    return work(task)


def work(task: PartTask) -> PartSummary:
    """As `run_part`, within the limits that the process has already."""
    return _Work(task).run()


def _limit_memory() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > WORKER_DATA_BYTES:
        resource.setrlimit(resource.RLIMIT_DATA, (WORKER_DATA_BYTES, hard))


class _Work:
    """One part being worked on: the pack, the writers by table, and the summary so far."""

    def __init__(self, task: PartTask) -> None:
        self.task = task
        self.pack = Pack(task.pack)
        self.summary = PartSummary(task.part.family, task.part.number)
        self.writers: dict[str, TableWriter] = {}
        self.told = BytesRead(task.telling, f"{task.part.family}-{task.part.number}")

    def run(self) -> PartSummary:
        try:
            with _mapped(self.task.pack) as data:
                for unit in self.task.part.units:
                    self._read(unit, data)
                    paths = unit.paths if isinstance(unit, ChannelUnit) else [unit.path]
                    self.told.add(sum(map(self.pack.size, paths)))
            for writer in self.writers.values():
                self.summary.files += writer.close()
            return self.summary
        except BaseException:
            for writer in self.writers.values():
                writer.abandon()
            raise
        finally:
            self.pack.close()

    def _read(self, unit: object, data: memoryview) -> None:
        match unit:
            case LogUnit():
                self._log(unit, data)
            case ChannelUnit():
                self._channel(unit)
            case LinesUnit():
                self._lines(unit)
            case EventsUnit(path):
                self._events(path)

    def _writer(self, table: str) -> TableWriter:
        if table not in self.writers:
            name = f"part-{self.task.part.number:05d}"
            self.writers[table] = TableWriter(LAKE_TABLES[table], Path(self.task.staging), name)
        return self.writers[table]

    def _log(self, unit: LogUnit, data: memoryview) -> None:
        key = LogKey(unit.task, unit.attempt, unit.thread, unit.epoch)
        offset, size = self.pack.extent(unit.path)
        reader = DeterminantReader(data[offset : offset + size], unit.path)
        counts: dict[str, tuple[int, int]] = {}
        for piece in reader.slices():
            span = self._writer("determinants").add({**key._asdict(), **piece.columns}, piece.rows)
            self.summary.spans.append(LogSpan(*key, span.path, span.first_row, span.rows))
            for kind, (count, size_bytes) in piece.by_kind.items():
                known = counts.get(kind, (0, 0))
                counts[kind] = (known[0] + count, known[1] + size_bytes)
        self.summary.counts += [(key, kind, count, size) for kind, (count, size) in sorted(counts.items())]
        if not counts:
            self.summary.counts.append((key, "", 0, 0))  # an empty epoch is an epoch
        if reader.fault is not None:
            self.summary.rejects.append(Reject.of(reader.fault, unit.path))

    def _channel(self, unit: ChannelUnit) -> None:
        rows = {table: self._writer(table).add_row for table in ("buffers", "sendings", "deltas")}
        sink = ChannelSink(rows["buffers"], rows["sendings"], rows["deltas"])
        manifest = self.task.manifest
        ids, layout = LogIds.of(manifest), manifest.protocol.delta_layout
        ChannelReader(unit, self.pack.open, ids, layout, sink).run()
        self.summary.rejects += sink.rejects
        self.summary.flows += sink.flows
        self.summary.times.merge(sink.times)
        self.summary.last_us = max(self.summary.last_us, sink.last_us)

    def _lines(self, unit: LinesUnit) -> None:
        first_us, last_us, reject = read_unit(unit, self.pack.open(unit.path), self._writer(unit.table).add_row)
        if self.task.manifest.protocol.observed and first_us is not None:
            # There are no buffers to tell when an epoch was.
            for t_us in (first_us, last_us):
                self.summary.times.note(LogKey(unit.task, unit.attempt, MAIN, unit.epoch), t_us)
        self.summary.last_us = max(self.summary.last_us, last_us)
        self.summary.rejects += [reject] if reject else []

    def _events(self, path: str) -> None:
        observed = self.task.manifest.protocol.observed
        reader = EventReader(self._writer("events").add_row, self._writer("metrics").add_row, observed=observed)
        reader.read(self.pack.open(path), path)
        for table, rows in (("checkpoints", reader.checkpoints()), ("failures", reader.failures())):
            for row in rows:
                self._writer(table).add_row(row)
        self.summary.failures = reader.failure_facts()
        self.summary.rejects += reader.rejects
        self.summary.times.merge(reader.times)
        self.summary.last_us = max(self.summary.last_us, reader.last_us)


@contextmanager
def _mapped(path: str) -> Iterator[memoryview]:
    """The pack's bytes without copying them. What was made of them must be let go before the end."""
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    yield memoryview(mapping)  # unmapped with its last reader: numpy may still hold a view when a task fails
