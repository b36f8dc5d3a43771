"""One question in SQL, asked by somebody: over the tables that they may read, and nothing else of this machine.

DuckDB's own lockdown is not enough: with allowed paths a query could write to them. So it gets no path at all: it sees
tables that Arrow reads, it opens no file, and the process around it has limits of its own (`ingest/jobs/question.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset

from ingest.lake.askable import MOST_ROWS, MOST_SQL, Asked
from ingest.lake.errors import QueryTooLarge, QueryTooLong, QuestionRefused
from ingest.lake.places import InBucket, bucket_files, place_of

MOST_PAGE_BYTES = 4 << 20
MOST_CELL = 10_000
MOST_COLUMNS = 500
MOST_FAULT = 4_000
_BATCH_ROWS = 16_384
_NO_FILES = "a question reads the tables that stand beside it, and no files, addresses, extensions or other databases"


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an answer, as plain values. `more`: further ones stand behind them."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    more: bool


class Asking:
    """A database over some tables, in which one SELECT may be run.

    Raises `QuestionRefused`, `QueryTooLarge` or `QueryTooLong`.
    """

    def __init__(self, tables: Iterable[Asked], *, sealed: bool, memory_mib: int, threads: int) -> None:
        self._database = _empty_database(memory_mib, threads)
        known: set[str] = {""}
        for one in tables:
            columns = one.columns(sealed=sealed)
            data = _dataset(one.files, columns) if one.files else columns.empty_table()
            if one.schema not in known:
                known.add(one.schema)
                self._database.execute(f'CREATE SCHEMA "{one.schema}"')
            name = f"{one.schema}.{one.name}" if one.schema else one.name
            self._database.register(name, data)
            if one.schema:
                self._database.execute(f'CREATE VIEW "{one.schema}"."{one.name}" AS FROM "{name}"')
        # In this order: the last one forbids what stands before it.
        self._database.execute("SET enable_external_access = false")
        self._database.execute("SET lock_configuration = true")

    def page(
        self, sql: str, *, skip: int = 0, limit: int = MOST_ROWS, order: int = 0, descending: bool = False
    ) -> Answer:
        """The rows from `skip` on, by the answer's column number `order`, counted from 1, where that is given."""
        by = f"ORDER BY {order:d} {'DESC' if descending else 'ASC'} NULLS LAST" if order else ""
        with _faults(lines_before=1):
            found = self._database.execute(f"{within(sql)} {by} LIMIT {limit + 1:d} OFFSET {skip:d}")
            described = found.description or ()
            if len(described) > MOST_COLUMNS:
                raise QuestionRefused(f"the answer has {len(described):,} columns, and may have {MOST_COLUMNS}")
            rows = list(_that_fit(iter(found.fetchone, None), limit))
            more = len(rows) > limit or found.fetchone() is not None
        return Answer([str(one[0]) for one in described], [str(one[1]) for one in described], rows[:limit], more)

    @contextmanager
    def batches(self, wrapped: str) -> Iterator[pa.RecordBatchReader]:
        """All rows of what `within` gave, or of a query around that, batch by batch."""
        with _faults(lines_before=1):
            # Not by `execute`, which has the whole answer in memory before its first row is read.
            yield self._database.sql(wrapped).to_arrow_reader(_BATCH_ROWS)


def within(sql: str) -> str:
    """The one SELECT that a question must be, as part of another one: what is not a query can't stand there."""
    if len(sql) > MOST_SQL:
        raise QuestionRefused(f"the question has {len(sql):,} characters, and may have {MOST_SQL:,}")
    with _faults():
        statements = duckdb.extract_statements(sql)
    if len(statements) != 1:
        raise QuestionRefused("ask one question at a time: one SELECT, without another statement behind it")
    if not _is_select(statements[0]):
        raise QuestionRefused(f"this is no question: write a SELECT. {_NO_FILES[0].upper()}{_NO_FILES[1:]}")
    text = statements[0].query.strip().rstrip(";")
    before = sql[: max(0, sql.find(text))].count("\n")
    # On lines of its own: the last one of the question may be a comment.
    return "SELECT * FROM (\n" + "\n" * before + f"{text}\n)"


def _is_select(statement: duckdb.Statement) -> bool:
    try:
        return bool(statement.type == duckdb.StatementType.SELECT)
    except ValueError:  # a kind that DuckDB has no name for in Python
        return False


def plain(value: Any) -> Any:
    """As JSON has it; a very long one is cut, and says so."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _cut(bytes(value[: MOST_CELL + 1]).hex(), max(0, len(value) - MOST_CELL - 1) * 2)
    if isinstance(value, list | dict | tuple):
        return _cut(json.dumps(value, ensure_ascii=False, default=_in_json))
    return _cut(str(value))


def _in_json(value: Any) -> Any:
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)


def _cut(text: str, further: int = 0) -> str:
    left_out = len(text) + further - MOST_CELL
    return text if left_out <= 0 else f"{text[:MOST_CELL]}… [{left_out:,} more characters]"


def _that_fit(rows: Iterable[tuple[Any, ...]], limit: int) -> Iterator[list[Any]]:
    """At most one more than the limit, and fewer where they are large; never none, so that every page leads on."""
    left = MOST_PAGE_BYTES
    for number, row in enumerate(rows):
        told = [plain(value) for value in row]
        yield told
        left -= sum(len(one) for one in told if isinstance(one, str)) + 8 * len(told)
        if number == limit or left < 0:
            return


def _empty_database(memory_mib: int, threads: int) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{memory_mib}MiB",
            "threads": threads,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
            "temp_directory": "",
        },
    )


def _dataset(files: Sequence[str], columns: pa.Schema) -> Any:
    named = [place_of(file) for file in files]
    keys = [one.key for one in named if isinstance(one, InBucket)]
    if keys:
        return pa.dataset.dataset(keys, schema=columns, format="parquet", filesystem=bucket_files())
    return pa.dataset.dataset(list(files), schema=columns, format="parquet")


@contextmanager
def _faults(lines_before: int = 0) -> Iterator[None]:
    """What DuckDB says of a question, without what it says of this machine; lines are counted as the asker does."""
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError, pa.ArrowMemoryError) as too_large:
        raise QueryTooLarge("the question needs more memory than it may use; ask for less at once") from too_large
    except (duckdb.PermissionException, duckdb.IOException, duckdb.HTTPException) as forbidden:
        raise QuestionRefused(_NO_FILES) from forbidden
    except (duckdb.InterruptException, RuntimeError) as ended:
        # Where a signal ends a question, DuckDB may say it by no exception of its own.
        if "interrupt" not in str(ended).lower():
            raise
        raise QueryTooLong("the question takes longer than it may; ask for less at once") from ended
    except (duckdb.FatalException, duckdb.InternalException) as broken:
        raise QuestionRefused("DuckDB can't answer this question: it broke off with a fault of its own") from broken
    except duckdb.Error as wrong:
        words = str(wrong)[:MOST_FAULT].strip()
        told = re.sub(r"^LINE (\d+):", lambda found: f"LINE {int(found[1]) - lines_before}:", words, flags=re.MULTILINE)
        raise QuestionRefused(told) from wrong
