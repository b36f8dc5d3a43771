"""Rows as CSV, JSON lines, Arrow or Parquet: the whole answer to a question, in a file, or a page of a table."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ingest.lake.asking import Asking, within
from ingest.lake.errors import QuestionRefused

Write = Callable[[pa.RecordBatch], object]
Out = IO[bytes]


def write_answer(asking: Asking, sql: str, path: Path | str, kind: str) -> int:
    """Writes it, and gives the number of its rows. Raises `QuestionRefused` or `QueryTooLarge`."""
    opened, asked = _FORMATS[kind]
    rows = 0
    with asking.batches(asked(within(sql))) as batches:
        try:
            with open(path, "wb") as out, opened(out, batches.schema) as write:
                for batch in batches:
                    write(batch)
                    rows += batch.num_rows
        except pa.ArrowNotImplementedError as fault:
            raise QuestionRefused(f"this answer can't be written as {kind}: {fault}. Choose another format") from fault
    return rows


def encoded(rows: pa.Table, kind: str) -> bytes:
    """A page of a table as `csv`, `arrow` or `parquet`; in CSV bytes are hexadecimal."""
    out = io.BytesIO()
    if kind == "csv":
        rows = _without_bytes(rows)
    with _FORMATS[kind][0](out, rows.schema) as write:
        for batch in rows.to_batches():
            write(batch)
    return out.getvalue()


def _without_bytes(rows: pa.Table) -> pa.Table:
    for place, field in enumerate(rows.schema):
        if pa.types.is_binary(field.type):
            texts = [None if one is None else one.hex() for one in rows.column(place).to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(texts, pa.string()))
    return rows


@contextmanager
def _csv(out: Out, schema: pa.Schema) -> Iterator[Write]:
    with pa.csv.CSVWriter(out, schema) as writer:
        yield writer.write_batch


@contextmanager
def _json_lines(out: Out, schema: pa.Schema) -> Iterator[Write]:
    def write(batch: pa.RecordBatch) -> None:
        out.writelines(line.encode() + b"\n" for line in batch.column(0).to_pylist())

    yield write


@contextmanager
def _arrow(out: Out, schema: pa.Schema) -> Iterator[Write]:
    with pa.ipc.new_stream(out, schema) as writer:
        yield writer.write_batch


@contextmanager
def _parquet(out: Out, schema: pa.Schema) -> Iterator[Write]:
    with pa.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        yield writer.write_batch


def _as_it_is(sql: str) -> str:
    return sql


def _as_text(sql: str) -> str:
    """What is nested in a value has no form of its own in a line of CSV."""
    return f"SELECT COLUMNS(*)::VARCHAR FROM ({sql})"


def _as_objects(sql: str) -> str:
    return f"SELECT to_json(answer)::VARCHAR FROM ({sql}) answer"


_FORMATS: dict[str, tuple[Callable[[Out, pa.Schema], AbstractContextManager[Write]], Callable[[str], str]]] = {
    "csv": (_csv, _as_text),
    "json": (_json_lines, _as_objects),
    "arrow": (_arrow, _as_it_is),
    "parquet": (_parquet, _as_it_is),
}
