"""Reading published jobs by SQL: every table of a job is a view, cached per published version, which never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from ingest.lake.engine import Limits, Params, Row, connect, fetch_columns, fetch_rows, parquet, quoted
from ingest.lake.errors import NotPublished, UnknownTable
from ingest.lake.manifest import LakeManifest
from ingest.lake.publish import lake_root, published_folder
from ingest.lake.schema import LAKE_TABLES, SCHEMA_VERSION, empty_source

VERSIONS_KEPT_OPEN = 16


class PublishedJob:
    """One published version of a job. Safe to use from many threads at once."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self.limits = limits
        self.manifest = LakeManifest.read(folder)
        self._spans: dict[tuple[str, int, str, int], list[str]] | None = None
        self._connection = connect(folder.resolve(), limits)
        for name in LAKE_TABLES:
            self._connection.execute(f'CREATE VIEW "{name}" AS {self._select(name)}')

    @property
    def facts(self) -> dict[str, Any]:
        return self.manifest.facts

    @property
    def outdated(self) -> bool:
        """Written under another schema: ingest it anew before asking about columns."""
        return self.manifest.schema_version != SCHEMA_VERSION

    def rows(self, sql: str, params: Params | None = None, *, timeout_s: float | None = None) -> list[Row]:
        """Runs one query over the views; values go in as `$name` and never into the text."""
        return fetch_rows(self._connection, sql, params, timeout_s or self.limits.timeout_s)

    def columns_and_rows(
        self, sql: str, params: Params | None = None, *, timeout_s: float | None = None
    ) -> tuple[list[str], list[Row]]:
        return fetch_columns(self._connection, sql, params, timeout_s or self.limits.timeout_s)

    def table_files(self, table: str) -> list[Path]:
        """The Parquet files of a table, in its order."""
        if table not in LAKE_TABLES:
            raise UnknownTable(f"there is no table {table!r}. There are: {', '.join(LAKE_TABLES)}.")
        return [self.folder / path for path in self.manifest.paths(table)]

    def log_source(self, task: str, attempt: int, thread: str, epoch: int) -> str:
        """A table expression over the one file, rarely more, that holds this log's epoch: pages read nothing else."""
        if self._spans is None:
            spans: dict[tuple[str, int, str, int], list[str]] = {}
            for span in self.manifest.logs:
                spans.setdefault((span.task, span.attempt, span.thread, span.epoch), []).append(span.path)
            self._spans = spans
        paths = self._spans.get((task, attempt, thread, epoch))
        return (
            parquet(self.folder / path for path in dict.fromkeys(paths))
            if paths
            else empty_source(LAKE_TABLES["determinants"])
        )

    def close(self) -> None:
        self._connection.close()

    def _select(self, table: str) -> str:
        files = self.table_files(table)
        return f"SELECT * FROM {parquet(files)}" if files else f"SELECT * FROM {empty_source(LAKE_TABLES[table])}"


class Lake:
    """Every published job below one data folder."""

    def __init__(self, data: Path | str, limits: Limits | None = None) -> None:
        self.data = Path(data)
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, PublishedJob] = OrderedDict()

    def job(self, job: str) -> PublishedJob:
        """The version that is published now; raises `NotPublished`."""
        folder = published_folder(self.data, job)
        with self._lock:
            known = self._open.get(folder)
            if known is None:
                known = self._open[folder] = self._open_version(job, folder)
            self._open.move_to_end(folder)
            self._forget(job, folder)
            return known

    def rows(self, sql: str, params: Params | None = None, *, job: str, timeout_s: float | None = None) -> list[Row]:
        """One query over the tables of a job. Asks again if a newer version was published meanwhile."""
        for last in (False, True):
            published = self.job(job)
            try:
                return published.rows(sql, params, timeout_s=timeout_s)
            except duckdb.IOException:
                if last or self._is_current(job, published):
                    raise
        raise NotPublished(f"job {job} is being replaced again and again")

    def is_published(self, job: str) -> bool:
        try:
            return published_folder(self.data, job).is_dir()
        except NotPublished:
            return False

    def table_files(self, job: str, table: str) -> list[Path]:
        return self.job(job).table_files(table)

    def close(self) -> None:
        with self._lock:
            self._open.clear()

    def _open_version(self, job: str, folder: Path) -> PublishedJob:
        try:
            return PublishedJob(folder, self.limits)
        except duckdb.IOException as gone:
            raise NotPublished(f"files of job {job} are missing in the lake. Ingest the job anew.") from gone

    def _is_current(self, job: str, published: PublishedJob) -> bool:
        return self.is_published(job) and published_folder(self.data, job) == published.folder

    def _forget(self, job: str, current: Path) -> None:
        """Older versions of this job, and those not asked for the longest. Running queries keep theirs alive."""
        prefix = f"{job}."
        stale = [f for f in self._open if f != current and f.name.startswith(prefix)]
        stale += list(self._open)[: max(0, len(self._open) - len(stale) - VERSIONS_KEPT_OPEN)]
        for folder in dict.fromkeys(stale):
            self._open.pop(folder, None)


def sql_list(values: Iterable[str]) -> str:
    """Literals of our own constants, for IN (…)."""
    return ", ".join(quoted(value) for value in values)


def open_lake(data: Path | str) -> Lake:
    """The lake below a data folder, which need not exist yet."""
    lake_root(Path(data)).mkdir(parents=True, exist_ok=True)
    return Lake(data)
