"""DuckDB as this project uses it: bound parameters, limits on memory and time, no extensions, no writing."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from ingest.lake.errors import QueryTooLarge, QueryTooLong
from ingest.lake.places import InBucket, Place, bucket_files

Params = Mapping[str, Any]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may use. Memory is that of the whole connection."""

    memory_mib: int = 512
    threads: int = 2
    timeout_s: float = 20.0


def connect(folder: Place, limits: Limits, *, spill: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory that may read below one folder and nothing else. Only with `spill` may it write: there."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{limits.memory_mib}MiB",
            "threads": limits.threads,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "temp_directory": "" if spill is None else str(spill),
        },
    )
    connection.execute("SET GLOBAL parquet_metadata_cache = true")  # else cursors would not have it
    if isinstance(folder, InBucket):
        connection.register_filesystem(_files_for_duckdb())
    # In this order: each of the last two forbids what stands before it.
    connection.execute(f"SET allowed_directories = [{quoted(f'{folder}/')}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@cache
def _files_for_duckdb() -> Any:
    """By ranged reads through Arrow: DuckDB's own extension for this would have to be downloaded."""
    from fsspec.implementations.arrow import ArrowFSWrapper

    class Buckets(ArrowFSWrapper):
        protocol = "s3"
        cachable = False

    return Buckets(bucket_files())


def quoted(text: str) -> str:
    """A string literal. Only for paths of our own: values are always bound."""
    return "'" + text.replace("'", "''") + "'"


def parquet(paths: Iterable[Place | str]) -> str:
    """The table expression that reads these files."""
    return f"read_parquet([{', '.join(quoted(str(path)) for path in paths)}])"


def fetch_rows(
    connection: duckdb.DuckDBPyConnection, sql: str, params: Params | Sequence[Any] | None, timeout_s: float
) -> list[Row]:
    """All rows; queries of pages say LIMIT themselves."""
    cursor = connection.cursor()
    try:
        with deadline(cursor, timeout_s):
            return cursor.execute(sql, params or None).fetchall()
    finally:
        cursor.close()


def fetch_columns(
    connection: duckdb.DuckDBPyConnection, sql: str, params: Params | Sequence[Any] | None, timeout_s: float
) -> tuple[list[str], list[Row]]:
    """Column names and all rows."""
    cursor = connection.cursor()
    try:
        with deadline(cursor, timeout_s):
            result = cursor.execute(sql, params or None)
            return [column[0] for column in result.description or ()], result.fetchall()
    finally:
        cursor.close()


@contextmanager
def deadline(cursor: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Interrupts the cursor's query when its time is over. One thread watches for all queries of the process."""
    ticket = _watch.begin(cursor, timeout_s)
    try:
        yield
    except duckdb.InterruptException as interrupted:
        raise QueryTooLong(f"the query took longer than {timeout_s:g} s. Ask for a narrower range.") from interrupted
    except duckdb.OutOfMemoryException as too_large:
        raise QueryTooLarge("the query needs more memory than it may use. Ask for a narrower range.") from too_large
    finally:
        _watch.end(ticket)


class _Watch:
    """Interrupts overdue queries: starting a timer thread per query would cost more than most queries do."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._running: dict[int, tuple[float, duckdb.DuckDBPyConnection]] = {}
        self._next = 0
        self._thread: threading.Thread | None = None
        self._closed = False

    def begin(self, cursor: duckdb.DuckDBPyConnection, timeout_s: float) -> int:
        with self._lock:
            self._next += 1
            self._running[self._next] = (time.monotonic() + timeout_s, cursor)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="lake-deadlines", daemon=True)
                self._thread.start()
                atexit.register(self._close)
            self._lock.notify()
            return self._next

    def end(self, ticket: int) -> None:
        with self._lock:
            self._running.pop(ticket, None)

    def _close(self) -> None:
        """A thread that still runs when the interpreter ends makes DuckDB complain about leaks."""
        with self._lock:
            self._closed = True
            self._lock.notify()
        if self._thread is not None:
            self._thread.join(1.0)

    def _run(self) -> None:
        with self._lock:
            while not self._closed:
                now_s = time.monotonic()
                for until_s, cursor in list(self._running.values()):
                    if until_s <= now_s:
                        cursor.interrupt()
                # An interrupt that came before its query began is lost, so overdue ones are tried again.
                waits = [max(until_s - now_s, 0.05) for until_s, _ in self._running.values()]
                self._lock.wait(min(waits, default=60.0))


_watch = _Watch()
