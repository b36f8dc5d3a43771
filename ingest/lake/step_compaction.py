"""Putting a replay's steps in order once all are written: few files, and the copies that are sorted otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from ingest.lake.engine import Limits, connect, parquet
from ingest.lake.schema import MAX_FILE_ROWS, Table
from ingest.lake.splicing import spliced
from ingest.lake.step_effects import write_effects
from ingest.lake.step_schema import (
    EFFECTS,
    SPILL,
    STATE_KEYS,
    STATE_MARKS,
    STEP_ROW_GROUP_ROWS,
    STEP_TABLES,
    STRETCH_STEPS,
)
from ingest.lake.writers import TableWriter

Files = Mapping[str, list[str]]
COMPACTION = Limits(memory_mib=512, threads=1, timeout_s=600.0)
SMALL_ROWS = STEP_ROW_GROUP_ROWS // 4
"""Row groups of fewer rows are not kept as they are: a replay that takes its time writes many of them."""
_OF_STATE_CHANGES = {
    STATE_MARKS: f"SELECT key, task, step // {STRETCH_STEPS} AS stretch, max(step) AS step, "
    "arg_max_null(after, step) AS after FROM {0} GROUP BY ALL ORDER BY key, task, stretch",
    STATE_KEYS: "SELECT key, task, min(step) AS first_step FROM {0} GROUP BY ALL ORDER BY key, task",
}


def compacted(folder: Path, files: Files) -> dict[str, list[str]]:
    """The files of every table, made of those of the chunks, which stay where they are."""
    made = {
        name: _together(table, folder, [folder / path for path in files[name]]) for name, table in STEP_TABLES.items()
    }
    near_far_other = write_effects([folder / path for path in made["causes"]], folder)
    made[EFFECTS.name] = _together(EFFECTS, folder, [path for paths in near_far_other for path in paths])
    for paths in near_far_other:
        _remove(paths)
    return made | _of_state_changes(folder, made["state_changes"])


def _together(table: Table, folder: Path, paths: Sequence[Path]) -> list[str]:
    """Few files of many, in the same order."""
    rewritten: list[Path] = []
    made: list[str] = []
    try:
        for some in _filled(_worth_copying(table, folder, paths, rewritten)):
            number = f"-{len(made)}" if made else ""
            made.append(f"{table.name}/all{number}.parquet")
            spliced(some, folder / made[-1])
    finally:
        _remove(rewritten)
    return made


def _worth_copying(table: Table, folder: Path, paths: Sequence[Path], rewritten: list[Path]) -> Iterator[Path]:
    """Of files with small row groups, as many as follow one another are written anew, as one."""
    for small, some in groupby(paths, _is_small):
        if small:
            again = _rewritten(table, folder, list(some), f"again-{len(rewritten)}")
            rewritten += again
            yield from again
        else:
            yield from some


def _is_small(path: Path) -> bool:
    says = pq.read_metadata(path)
    return says.num_rows < SMALL_ROWS * says.num_row_groups


def _filled(paths: Iterator[Path]) -> Iterator[list[Path]]:
    """As many as go into one file."""
    some, rows = list[Path](), 0
    for path in paths:
        of_path = pq.read_metadata(path).num_rows
        if some and rows + of_path > MAX_FILE_ROWS:
            yield some
            some, rows = [], 0
        some.append(path)
        rows += of_path
    if some:
        yield some


def _rewritten(table: Table, folder: Path, paths: Sequence[Path], name: str) -> list[Path]:
    writer = TableWriter(table, folder, name, row_group_rows=STEP_ROW_GROUP_ROWS, page_index=False)
    try:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(STEP_ROW_GROUP_ROWS, use_threads=False):
                    writer.add(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)
        return [folder / file.path for file in writer.close()]
    except BaseException:
        writer.abandon()
        raise


def _of_state_changes(folder: Path, changes: list[str]) -> dict[str, list[str]]:
    if not changes:
        return {table.name: [] for table in _OF_STATE_CHANGES}
    spill = folder / SPILL
    connection = connect(folder.resolve(), COMPACTION, spill=spill.resolve())
    source = parquet(folder.resolve() / path for path in changes)
    try:
        return {
            table.name: _asked(connection, folder, table, query.format(source))
            for table, query in _OF_STATE_CHANGES.items()
        }
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def _asked(connection: duckdb.DuckDBPyConnection, folder: Path, table: Table, query: str) -> list[str]:
    writer = TableWriter(table, folder, "all", row_group_rows=STEP_ROW_GROUP_ROWS, page_index=False)
    try:
        for batch in connection.sql(query).to_arrow_reader(STEP_ROW_GROUP_ROWS):
            writer.add({name: batch.column(name) for name in table.schema.names}, batch.num_rows)
        return [file.path for file in writer.close()]
    except BaseException:
        writer.abandon()
        raise


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
