"""What a Spark task does: reads the units of its part from the pack and writes Parquet files of its own."""

from __future__ import annotations

import resource
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from ingest.jobs.log_part import Count, LogPart
from ingest.jobs.telling import BytesRead
from ingest.lake.log_index import INDEX_GROUP_ROWS, LOG_INDEX
from ingest.lake.packs import open_pack
from ingest.lake.places import place_of
from ingest.lake.schema import FLOWS, LAKE_TABLES, ROW_GROUP_ROWS
from ingest.lake.writers import FileSummary, TableWriter
from ingest.transforms.channels import ChannelReader, ChannelSink, ChannelUnit, Standing
from ingest.transforms.decoding.pieces import Pieces
from ingest.transforms.decoding.windows import cuts_of
from ingest.transforms.events import EventReader
from ingest.transforms.outside import LinesUnit, read_unit
from ingest.transforms.places import TIMES, Flow, LogKey, Reject, Times, in_columns
from ingest.transforms.planning import EventsUnit, Part
from replay.bundle.members import MANIFEST
from replay.bundle.pack import Pack
from replay.log.deltas import LogIds
from replay.model import MAIN, Manifest

WORKER_DATA_BYTES = 2 << 30
"""What a worker may allocate."""
TABLES = {**LAKE_TABLES, LOG_INDEX.name: LOG_INDEX}


@dataclass(frozen=True, slots=True)
class PartTask:
    """A part and where it is to be read and written."""

    part: Part
    pack: str
    staging: str
    tasks: tuple[str, ...]
    """Tasks by number, as pieces of logs name them."""
    telling: str | None = None
    """The folder in which it tells how far it is."""
    goes_on: bool = False
    """Whether the channels' next epochs will be read by others, from where this part's stand."""


@dataclass(slots=True)
class PartSummary:
    """What a part hands to the driver: no rows, only sums."""

    family: str
    number: int
    files: list[FileSummary] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    """Of logs that others read parts of."""
    flows: pa.Table = field(default_factory=FLOWS.schema.empty_table)
    rejects: list[Reject] = field(default_factory=list)
    times: pa.Table = field(default_factory=TIMES.empty_table)
    last_us: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    standing: dict[str, dict[int, Standing]] = field(default_factory=dict)
    """By channel and the sender's attempt, where the reading stands, if it goes on."""


def run_part(task: PartTask) -> PartSummary:
    """Reads and writes one part. Doing it again replaces the same files."""
    _limit_memory()
    return work(task)


@dataclass(frozen=True, slots=True)
class CutTask:
    """A log that is too long for one part."""

    number: int
    log: Pieces
    pack: str
    every_bytes: int


def run_cut(task: CutTask) -> tuple[int, list[tuple[int, int]]]:
    """Reads a log only to say where it can be cut."""
    _limit_memory()
    return cut(task)


def cut(task: CutTask) -> tuple[int, list[tuple[int, int]]]:
    """As `run_cut`, within the limits that the process has already."""
    with closing(open_pack(task.pack)) as pack:
        return task.number, cuts_of(task.log, pack.read_at, task.every_bytes)


_kept: dict[str, Manifest] = {}


def _manifest_of(pack: Pack) -> Manifest:
    """Of the pack that this process read last: it may be large, and parts are many."""
    if pack.content_id not in _kept:
        _kept.clear()
        _kept[pack.content_id] = Manifest.from_json(pack.read(MANIFEST))
    return _kept[pack.content_id]


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
        self.pack = open_pack(task.pack)
        self.summary = PartSummary(task.part.family, task.part.number)
        self.flows: list[Flow] = []
        self.times = Times()
        self.writers: dict[str, TableWriter] = {}
        self.told = BytesRead(task.telling, f"{task.part.family}-{task.part.number}")

    def run(self) -> PartSummary:
        try:
            if self.task.part.pieces is not None:
                self._logs(self.task.part.pieces)
            for unit in self.task.part.units:
                self._read(unit)
            for writer in self.writers.values():
                self.summary.files += writer.close()
            self.summary.flows = in_columns(FLOWS.schema, self.flows)
            self.summary.times = in_columns(TIMES, ((*key, *span) for key, span in self.times.seen.items()))
            self.told.end(sum(file.rows for file in self.summary.files))
            return self.summary
        except BaseException:
            for writer in self.writers.values():
                writer.abandon()
            raise
        finally:
            self.pack.close()

    def _read(self, unit: object) -> None:
        match unit:
            case ChannelUnit():
                self._channel(unit)
            case LinesUnit():
                self._lines(unit)
                self.told.add(self.pack.size(unit.path))
            case EventsUnit(path):
                self._events(path)
                self.told.add(self.pack.size(path))

    def _writer(self, table: str) -> TableWriter:
        if table not in self.writers:
            name = f"part-{self.task.part.number:05d}"
            rows = INDEX_GROUP_ROWS if table == LOG_INDEX.name else ROW_GROUP_ROWS
            self.writers[table] = TableWriter(TABLES[table], place_of(self.task.staging), name, row_group_rows=rows)
        return self.writers[table]

    def _logs(self, pieces: Pieces) -> None:
        part = LogPart(pieces, self.task.tasks, self.pack.read_at, self._writer, self.told.add)
        part.run()
        self.summary.counts += part.counts
        self.summary.rejects += part.rejects

    @property
    def _manifest(self) -> Manifest:
        return _manifest_of(self.pack)

    def _channel(self, unit: ChannelUnit) -> None:
        rows = {table: self._writer(table).add_row for table in ("buffers", "sendings", "deltas")}
        sink = ChannelSink(rows["buffers"], rows["sendings"], rows["deltas"])
        manifest = self._manifest
        ids, layout = LogIds.of(manifest), manifest.protocol.delta_layout
        whole = self.task.goes_on or not self.pack.growing
        told_bytes = 0

        def opened(path: str) -> BinaryIO:
            """Tells of buffers, most of a channel's bytes, as they are read, which is once."""
            nonlocal told_bytes
            if path.endswith(".buf"):
                told_bytes += self.pack.size(path)
                self.told.add(self.pack.size(path))
            return self.pack.open(path)

        reader = ChannelReader(unit, opened, ids, layout, sink, whole=whole)
        reader.run()
        self.told.add(unit.bytes - told_bytes)
        if self.task.goes_on:
            self.summary.standing[unit.channel] = reader.standing
        self.summary.rejects += sink.rejects
        self.flows += sink.flows
        self._writer("seconds").add_rows(
            [(unit.channel, second, *sums) for second, sums in sorted(sink.seconds.items())]
        )
        self.times.merge(sink.times)
        self.summary.last_us = max(self.summary.last_us, sink.last_us)

    def _lines(self, unit: LinesUnit) -> None:
        first_us, last_us, reject = read_unit(unit, self.pack.open(unit.path), self._writer(unit.table).add_row)
        if self._manifest.protocol.observed and first_us is not None:
            # There are no buffers to tell when an epoch was.
            for t_us in (first_us, last_us):
                self.times.note(LogKey(unit.task, unit.attempt, MAIN, unit.epoch), t_us)
        self.summary.last_us = max(self.summary.last_us, last_us)
        self.summary.rejects += [reject] if reject else []

    def _events(self, path: str) -> None:
        observed = self._manifest.protocol.observed
        reader = EventReader(self._writer("events").add_row, self._writer("metrics").add_row, observed=observed)
        reader.read(self.pack.open(path), path)
        for table, rows in (("checkpoints", reader.checkpoints()), ("failures", reader.failures())):
            for row in rows:
                self._writer(table).add_row(row)
        self.summary.failures = reader.failure_facts()
        self.summary.rejects += reader.rejects
        self.times.merge(reader.times)
        self.summary.last_us = max(self.summary.last_us, reader.last_us)
