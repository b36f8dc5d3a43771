"""Reading published jobs by SQL: every table of a job is a view, cached per published version, which never changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from ingest.lake.engine import Limits, Params, Row, connect, fetch_columns, fetch_rows, parquet
from ingest.lake.errors import NotPublished, UnknownTable
from ingest.lake.log_index import LogIndex
from ingest.lake.manifest import LakeManifest, ManifestFault
from ingest.lake.places import Place, place_of
from ingest.lake.publish import lake_root, published_folder
from ingest.lake.schema import LAKE_TABLES, empty_source
from ingest.lake.sealing import sealed_select

VERSIONS_KEPT_OPEN = 16
T = TypeVar("T")


class PublishedJob:
    """One published version of a job. Safe to use from many threads at once."""

    def __init__(
        self, folder: Place, limits: Limits, newer: Callable[[], PublishedJob] | None = None, *, sealed: bool = False
    ) -> None:
        self.folder, self.sealed = folder, sealed
        self.limits = limits
        self.manifest = LakeManifest.read(folder)
        self._newer = newer or (lambda: self)
        self.log_index = LogIndex(folder, [file.path for file in self.manifest.log_index])
        self._connection = connect(folder.resolve() if isinstance(folder, Path) else folder, limits)
        for name in LAKE_TABLES:
            self._connection.execute(f'CREATE VIEW "{name}" AS {self._select(name)}')

    @property
    def facts(self) -> dict[str, Any]:
        return self.manifest.facts

    def rows(self, sql: str, params: Params | None = None, *, timeout_s: float | None = None) -> list[Row]:
        """Runs one query over the views; values go in as `$name` and never into the text."""
        return self._asked(lambda job: fetch_rows(job._connection, sql, params, timeout_s or self.limits.timeout_s))

    def columns_and_rows(
        self, sql: str, params: Params | None = None, *, timeout_s: float | None = None
    ) -> tuple[list[str], list[Row]]:
        return self._asked(lambda job: fetch_columns(job._connection, sql, params, timeout_s or self.limits.timeout_s))

    def table_files(self, table: str) -> list[Place]:
        """The Parquet files of a table, in its order."""
        if table not in LAKE_TABLES:
            raise UnknownTable(f"there is no table {table!r}. There are: {', '.join(LAKE_TABLES)}.")
        return [self.folder / path for path in self.manifest.paths(table)]

    def log_source(self, task: str, attempt: int, thread: str, epoch: int) -> str:
        """A table expression over the one file, rarely more, that holds this log's epoch: pages read nothing else."""
        paths = self.log_index.paths(task, attempt, thread, epoch)
        table = LAKE_TABLES["determinants"]
        source = parquet(self.folder / path for path in paths) if paths else empty_source(table)
        return f"({sealed_select(table.name, table.schema, source)})" if self.sealed else source

    def close(self) -> None:
        self._connection.close()

    def _asked(self, ask: Callable[[PublishedJob], T]) -> T:
        """Asks the newer version if this one was replaced, and its files removed, while the question was on its way."""
        job = self
        for _ in tries_for(self.limits.timeout_s):
            try:
                return ask(job)
            except duckdb.IOException as gone:
                replaced, job = job, job._newer()
                if job is replaced:
                    raise NotPublished(f"files of {self.folder.name} are missing. Ingest the job anew.") from gone
        raise NotPublished(f"{self.folder.name} is being replaced again and again. Ask again in a moment.")

    def _select(self, table: str) -> str:
        files, schema = self.table_files(table), LAKE_TABLES[table].schema
        source = parquet(files) if files else empty_source(LAKE_TABLES[table])
        return sealed_select(table, schema, source) if self.sealed else f"SELECT * FROM {source}"


class Lake:
    """Every published job below one data folder. `sealed`: values are hidden, see `sealing`."""

    def __init__(self, data: Place | str, limits: Limits | None = None, *, sealed: bool = False) -> None:
        self.data, self.sealed = place_of(data), sealed
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._open: OrderedDict[Place, PublishedJob] = OrderedDict()

    def job(self, job: str) -> PublishedJob:
        """The version that is published now; raises `NotPublished`."""
        for _ in tries_for(self.limits.timeout_s):
            folder = published_folder(self.data, job)
            try:
                return self._version(job, folder)
            except (duckdb.IOException, ManifestFault) as gone:
                if self._is_current(job, folder):
                    raise NotPublished(f"files of job {job} are missing in the lake. Ingest the job anew.") from gone
        raise NotPublished(f"job {job} is being replaced again and again. Ask again in a moment.")

    def rows(self, sql: str, params: Params | None = None, *, job: str, timeout_s: float | None = None) -> list[Row]:
        """One query over the tables of a job."""
        return self.job(job).rows(sql, params, timeout_s=timeout_s)

    def is_published(self, job: str) -> bool:
        try:
            return bool(published_folder(self.data, job))
        except NotPublished:
            return False

    def table_files(self, job: str, table: str) -> list[Place]:
        return self.job(job).table_files(table)

    def close(self) -> None:
        with self._lock:
            self._open.clear()

    def _version(self, job: str, folder: Place) -> PublishedJob:
        with self._lock:
            known = self._open.get(folder)
            if known is None:
                known = self._open[folder] = PublishedJob(
                    folder, self.limits, lambda: self.job(job), sealed=self.sealed
                )
            self._open.move_to_end(folder)
            self._forget(job, folder)
            return known

    def _is_current(self, job: str, folder: Place) -> bool:
        return self.is_published(job) and published_folder(self.data, job) == folder

    def _forget(self, job: str, current: Place) -> None:
        """Older versions of this job, and those not asked for the longest. Running queries keep theirs alive."""
        prefix = f"{job}."
        stale = [f for f in self._open if f != current and f.name.startswith(prefix)]
        stale += list(self._open)[: max(0, len(self._open) - len(stale) - VERSIONS_KEPT_OPEN)]
        for folder in dict.fromkeys(stale):
            self._open.pop(folder, None)


def tries_for(patience_s: float) -> Iterator[None]:
    """One, and more until the time is over: a version may be replaced, and its files go, while it is asked."""
    until = time.monotonic() + patience_s
    yield
    while time.monotonic() < until:
        yield


def open_lake(data: Place | str, *, sealed: bool = False) -> Lake:
    """The lake below a data folder, which need not exist yet, or in a bucket."""
    root = lake_root(place_of(data))
    if isinstance(root, Path):
        root.mkdir(parents=True, exist_ok=True)
    return Lake(data, sealed=sealed)
