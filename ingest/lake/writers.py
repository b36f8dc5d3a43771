"""Writing one table's Parquet files: equal row groups, a temporary name until a file is whole, a new file when full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.lake.places import Landing, Place
from ingest.lake.schema import MAX_FILE_ROWS, NAMES, ROW_GROUP_ROWS, Table

ROWS_AT_ONCE = 8_192
PENDING_BYTES = 32 << 20
# Columns of one row take kilobytes beside their bytes: a bundle may have a million logs, each with next to nothing.
PENDING_BATCHES = 512


@dataclass(frozen=True, slots=True)
class FileSummary:
    """One whole Parquet file; `path` is relative to the lake folder."""

    table: str
    path: str
    rows: int
    bytes: int
    row_groups: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Span:
    """Where rows that belong together begin."""

    path: str
    first_row: int
    rows: int


class TableWriter:
    """Appends rows, already in the table's order, to `<root>/<table>/<name>.parquet`, `<name>-1.parquet`, …

    The folder of the table is made, the root never: what was taken away (a cancelled ingest) must not come back.
    """

    def __init__(
        self,
        table: Table,
        root: Place,
        name: str,
        *,
        row_group_rows: int = ROW_GROUP_ROWS,
        level: int = 3,
        page_index: bool = True,
    ) -> None:
        self.table = table
        self.root = root
        self.name = name
        self.row_group_rows = row_group_rows
        self.level = level
        self.page_index = page_index
        self.files: list[FileSummary] = []
        self.total_rows = 0
        self._writer: pq.ParquetWriter | None = None
        self._landing: Landing | None = None
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._file_rows = 0
        self._row_groups = 0
        self._rows: list[Sequence[Any]] = []

    def add_row(self, row: Sequence[Any]) -> None:
        """One row as a sequence in column order."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_AT_ONCE:
            self._gather_rows()

    def add_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Many rows as sequences in column order, in one go."""
        self._gather_rows()
        for first in range(0, len(rows), ROWS_AT_ONCE):
            self._add_rows(rows[first : first + ROWS_AT_ONCE])

    def add(self, columns: Mapping[str, Any], rows: int) -> Span:
        """Rows as columns: an array, a list or one value for all; columns left out are null."""
        self._gather_rows()
        return self._add_batch(batch_of(self.table.in_memory, columns, rows))

    def close(self) -> list[FileSummary]:
        """Writes what is left, gives the last file its name, and says which files there are."""
        self._gather_rows()
        self._finish_file()
        return self.files

    def abandon(self) -> None:
        """Leaves nothing of an unfinished file behind."""
        if self._writer is not None:
            with suppress(OSError, pa.ArrowException):  # its last bytes may have no room either
                self._writer.close()
            self._writer = None
        if self._landing is not None:
            self._landing.abandon()
            self._landing = None

    def _gather_rows(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._add_rows(rows)

    def _add_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        arrays = [
            pa.array(values, type=field.type)
            for field, values in zip(self.table.in_memory, zip(*rows, strict=True), strict=True)
        ]
        self._add_batch(pa.RecordBatch.from_arrays(arrays, schema=self.table.in_memory))

    def _add_batch(self, batch: pa.RecordBatch) -> Span:
        if self._file_rows and self._file_rows + batch.num_rows > MAX_FILE_ROWS:
            self._finish_file()
        span = Span(self._path(), self._file_rows, batch.num_rows)
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        self._pending_bytes += batch.nbytes
        self._file_rows += batch.num_rows
        self.total_rows += batch.num_rows
        if len(self._pending) >= PENDING_BATCHES:
            self._pending = self._pending_table().combine_chunks().to_batches()
        if self._pending_rows >= self.row_group_rows or self._pending_bytes >= PENDING_BYTES:
            self._write_row_groups(everything=self._pending_bytes >= PENDING_BYTES)
        return span

    def _path(self) -> str:
        number = f"-{len(self.files)}" if self.files else ""
        return f"{self.table.name}/{self.name}{number}.parquet"

    def _write_row_groups(self, *, everything: bool) -> None:
        """Full row groups only, unless everything must go; the rest waits."""
        if not self._pending:
            return
        pending = self._pending_table()
        rows = pending.num_rows if everything else pending.num_rows - pending.num_rows % self.row_group_rows
        self._open().write_table(pending.slice(0, rows), row_group_size=self.row_group_rows)
        self._row_groups += -(-rows // self.row_group_rows)
        rest = pending.slice(rows)
        self._pending = rest.to_batches()
        self._pending_rows, self._pending_bytes = rest.num_rows, rest.nbytes

    def _pending_table(self) -> pa.Table:
        pending = pa.Table.from_batches(self._pending, self.table.in_memory)
        # Names that are numbered anew within a row group would be written out one by one.
        return pending.unify_dictionaries() if self.table.named and len(self._pending) > 1 else pending

    def _open(self) -> pq.ParquetWriter:
        if self._writer is None:
            self._landing = Landing(self.root / self.table.name, self.name)
            plain = self.table.counting | self.table.distinct
            packed = {field.name: "lz4" if field.name in self.table.scanned else "zstd" for field in self.table.schema}
            self._writer = pq.ParquetWriter(
                self._landing.sink, self.table.in_memory, compression=packed,
                compression_level={name: self.level for name, how in packed.items() if how == "zstd"},
                use_dictionary=[field.name for field in self.table.schema if field.name not in plain],
                column_encoding=dict.fromkeys(sorted(self.table.counting), "DELTA_BINARY_PACKED"),
                write_page_index=self.page_index, store_schema=not self.table.named,
            )  # fmt: skip
        return self._writer

    def _finish_file(self) -> None:
        if not self._file_rows:
            return
        self._write_row_groups(everything=True)
        self._open().close()
        path = self._path()
        size_bytes = self._landing.land(self.root / path) if self._landing is not None else 0
        self.files.append(FileSummary(self.table.name, path, self._file_rows, size_bytes, self._row_groups))
        self._writer = self._landing = None
        self._file_rows = self._row_groups = 0


def batch_of(schema: pa.Schema, columns: Mapping[str, Any], rows: int) -> pa.RecordBatch:
    """A record batch in the schema's order; single values are repeated, missing columns are null."""
    return pa.RecordBatch.from_arrays([_array(columns.get(f.name), f.type, rows) for f in schema], schema=schema)


def _array(values: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, kind)
    if isinstance(values, pa.Array):
        return values.dictionary_encode() if kind == NAMES and pa.types.is_string(values.type) else values
    if isinstance(values, (str, int, bytes)):
        if kind == NAMES:
            return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, kind.index_type), rows), [values])
        return pa.repeat(pa.scalar(values, kind), rows)
    return pa.array(values, kind)


def write_rows(table: Table, root: Place, name: str, rows: Sequence[Sequence[Any]]) -> list[FileSummary]:
    """A small table in one go; without rows there is no file."""
    with _writing(table, root, name) as writer:
        writer.add_rows(rows)
        return writer.close()


def write_columns(
    table: Table, root: Place, name: str, rows: pa.Table, *, row_group_rows: int = ROW_GROUP_ROWS
) -> list[FileSummary]:
    """The same from columns."""
    with _writing(table, root, name, row_group_rows) as writer:
        for batch in rows.to_batches(max_chunksize=ROW_GROUP_ROWS):
            writer.add(dict(zip(rows.column_names, batch.columns, strict=True)), batch.num_rows)
        return writer.close()


@contextmanager
def _writing(table: Table, root: Place, name: str, row_group_rows: int = ROW_GROUP_ROWS) -> Iterator[TableWriter]:
    writer = TableWriter(table, root, name, row_group_rows=row_group_rows)
    try:
        yield writer
    except BaseException:
        writer.abandon()
        raise
