"""Putting a replay's steps in order once all are written: few files, and the copies that are sorted otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import duckdb

from ingest.lake.engine import Limits, connect, parquet
from ingest.lake.schema import Table
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
_FINAL: dict[Table, tuple[str, str]] = {
    # The chunks of these follow one another in order: they are only put together.
    STEP_TABLES["steps"]: ("steps", "SELECT * FROM {0}"),
    STEP_TABLES["causes"]: ("causes", "SELECT * FROM {0}"),
    STEP_TABLES["state_changes"]: ("state_changes", "SELECT * FROM {0}"),
    STEP_TABLES["buffers"]: ("buffers", "SELECT * FROM {0}"),
    STEP_TABLES["taken"]: ("taken", "SELECT * FROM {0}"),
    STEP_TABLES["open_orders"]: ("open_orders", "SELECT * FROM {0}"),
    EFFECTS: ("causes", "SELECT * FROM {0} ORDER BY cause, step"),
    STATE_MARKS: (
        "state_changes",
        f"SELECT key, task, step // {STRETCH_STEPS} AS stretch, max(step) AS step, arg_max_null(after, step) AS after "
        "FROM {0} GROUP BY ALL ORDER BY key, task, stretch",
    ),
    STATE_KEYS: ("state_changes", "SELECT key, task, min(step) AS first_step FROM {0} GROUP BY ALL ORDER BY key, task"),
}


def compacted(folder: Path, files: Files) -> dict[str, list[str]]:
    """The files of every table, made of those of the chunks, which stay where they are."""
    spill = folder / SPILL
    connection = connect(folder.resolve(), COMPACTION, spill=spill.resolve())
    try:
        return {table.name: _rewritten(connection, folder, files, table, *how) for table, how in _FINAL.items()}
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def _rewritten(
    connection: duckdb.DuckDBPyConnection, folder: Path, files: Files, table: Table, chunks: str, query: str
) -> list[str]:
    if not files[chunks]:
        return []
    source = parquet(folder.resolve() / path for path in files[chunks])
    writer = TableWriter(table, folder, "all", row_group_rows=STEP_ROW_GROUP_ROWS)
    try:
        for batch in connection.sql(query.format(source)).to_arrow_reader(STEP_ROW_GROUP_ROWS):
            writer.add({name: batch.column(name) for name in table.schema.names}, batch.num_rows)
        return [file.path for file in writer.close()]
    except BaseException:
        writer.abandon()
        raise
