"""Writes `holders` and `frontiers` of a job from its other tables, when these are there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.lake.places import InBucket, Place, readable
from ingest.lake.schema import FRONTIERS, HOLDERS, Table
from ingest.lake.writers import FileSummary, TableWriter
from ingest.transforms.growth.channel_rows import read_channels
from ingest.transforms.growth.growing import Growth, grown
from ingest.transforms.growth.in_order import Piece, in_order
from ingest.transforms.growth.lifetimes import KINDS, Lifetimes
from ingest.transforms.growth.places import Names
from ingest.transforms.growth.spool import Spool
from replay.model import Graph, Manifest

Tell = Callable[[str, int, int], None]
SCRATCH = "growing"
BATCH_ROWS = 1 << 17
_NAMED = ("channel", "task", "thread")


def write_causal_tables(
    staging: Place, manifest: Manifest, files: Iterable[FileSummary], tell: Tell = lambda what, done, total: None
) -> list[FileSummary]:
    """Both tables; `tell` is told what is being done, how many rows it is done with, and of how many. It may raise."""
    paths: dict[str, list[Place]] = {}
    for file in files:
        paths.setdefault(file.table, []).append(staging / file.path)
    if "sendings" not in paths:
        return []
    names = Names(Graph(manifest))
    with _scratch(staging) as spool:
        rows = read_channels(_reading(paths), names, spool, with_deltas=manifest.protocol.logs)
        lifetimes = Lifetimes.of(_events(paths.get("events", [])))
        growth = grown(rows, names, lifetimes, manifest.protocol, spool, partial(tell, "Following what arrived"))
        return [file for table in (HOLDERS, FRONTIERS) for file in table_rows(table, staging, growth, tell)]


@contextmanager
def _scratch(staging: Place) -> Iterator[Spool]:
    if isinstance(staging, InBucket):
        with (
            tempfile.TemporaryDirectory(prefix=f"{SCRATCH}-") as folder,
            closing(Spool(Path(folder) / SCRATCH)) as spool,
        ):
            yield spool
        return
    here = staging / SCRATCH
    try:
        with closing(Spool(here)) as spool:
            yield spool
    finally:
        shutil.rmtree(here, ignore_errors=True)


def _reading(paths: dict[str, list[Place]]) -> Callable[[str, list[str]], Iterator[pa.RecordBatch]]:
    def batches(table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        named = [name for name in columns if name in _NAMED]
        for path in paths.get(table, []):
            with pq.ParquetFile(readable(path), read_dictionary=named, memory_map=True) as file:
                yield from file.iter_batches(BATCH_ROWS, columns=columns)

    return batches


def _events(paths: list[Place]) -> Iterator[tuple[Any, ...]]:
    for path in paths:
        table = pq.read_table(readable(path), columns=["type", "t_us", "task", "attempt"])
        told = table.filter(pc.is_in(table["type"], pa.array(KINDS)))
        yield from zip(*(told[name].to_pylist() for name in told.column_names), strict=True)


def table_rows(
    table: Table, staging: Place, growth: Growth, tell: Tell = lambda what, done, total: None
) -> list[FileSummary]:
    """Writes one of the two."""
    runs = growth.holders if table is HOLDERS else growth.frontiers
    if not runs:
        return []
    writer = TableWriter(table, staging, "part-00000")
    columns, done, total = _holders if table is HOLDERS else _frontiers, 0, sum(map(len, runs))
    try:
        for piece in in_order(runs, len(growth.places), growth.spool):
            writer.add(columns(piece, growth), len(piece.place))
            done += len(piece.place)
            tell(f"Writing {table.name}", done, total)
        return writer.close()
    except BaseException:
        writer.abandon()
        raise


def _holders(piece: Piece, growth: Growth) -> dict[str, Any]:
    return _place(piece, growth, "task") | {
        "attempt": pa.array(piece.whose),
        "holder": _named(piece.who, [growth.names.holder(n) for n in range(len(growth.names.tasks) + 1)]),
        "holder_attempt": pa.array(piece.attempt),
    }


def _frontiers(piece: Piece, growth: Growth) -> dict[str, Any]:
    return _place(piece, growth, "of_task") | {
        "task": _named(piece.who, growth.names.tasks),
        "attempt": pa.array(piece.attempt),
    }


def _place(piece: Piece, growth: Growth, task: str) -> dict[str, Any]:
    logs = growth.places.log[piece.place]
    return {
        task: _named(growth.names.task_of_log[logs], growth.names.tasks),
        "thread": _named(logs, [thread for _, thread in growth.names.logs]),
        "epoch": pa.array(growth.places.epoch[piece.place]),
        "t_us": pa.array(piece.t_us),
        "upto": pa.array(piece.upto),
    }


def _named(numbers: Any, names: Sequence[str]) -> pa.Array:
    codes = pa.array(np.asarray(numbers, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
