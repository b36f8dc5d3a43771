"""What a following that was killed must have left: a version that is whole, nothing that `doctor` does not name, and in
the end the tables that an ingest of the whole folder makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench.without_spark import ingest_here
from ingest.errors import IngestError
from ingest.lake.engine import Limits
from ingest.lake.errors import NotPublished
from ingest.lake.publish import publish, published_folder
from ingest.lake.readers import Lake, PublishedJob
from ingest.lake.schema import LAKE_TABLES
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack

WHOLE = "j_whole"


@dataclass(frozen=True, slots=True)
class Whole:
    """The same recording, ingested when it was complete."""

    content_id: str
    tables: dict[str, Counter[Any]]

    @classmethod
    def of(cls, recording: Path, folder: Path) -> Whole:
        content_id = ingest_whole(recording, folder)
        with closing(Lake(folder).job(WHOLE)) as job:
            return cls(content_id, {table: rows_of(job, table) for table in LAKE_TABLES})

    def wrong_in(self, data: Path, job: str) -> list[str]:
        """Of a version that is published while the recording still grows."""
        return _asked(data, job, self._wrong_meanwhile)

    def different_in(self, data: Path, job: str) -> list[str]:
        """Of the last version."""
        return _asked(data, job, self._different)

    def _wrong_meanwhile(self, job: PublishedJob) -> list[str]:
        counted = {table: job.rows(f"SELECT count(*) FROM {table}")[0][0] for table in LAKE_TABLES}
        told = Counter[str]()
        for file in job.manifest.files:
            told[file.table] += file.rows
        wrong = [f"{table} has {n} rows and not {told[table]}" for table, n in counted.items() if n != told[table]]
        strange = rows_of(job, "determinants") - self.tables["determinants"]
        return wrong + ([f"determinants that nobody recorded: {list(strange)[:3]}"] if strange else [])

    def _different(self, job: PublishedJob) -> list[str]:
        found = {table: rows_of(job, table) for table in LAKE_TABLES}
        return [
            f"{table}: {list((found[table] - rows).items())[:3]} and not {list((rows - found[table]).items())[:3]}"
            for table, rows in self.tables.items()
            if found[table] != rows
        ]


def ingest_whole(recording: Path, folder: Path) -> str:
    """Into a lake of its own; its content id."""
    folder.mkdir(parents=True)
    with closing(open_container(recording)) as container:
        summary = write_pack(container, folder / "whole.pack")
    ingest_here(WHOLE, folder / "whole.pack", folder / "staging")
    publish(folder, folder / "staging", WHOLE, "w", 0)
    return summary.content_id


def rows_of(job: PublishedJob, table: str) -> Counter[Any]:
    """How often each row stands there."""
    return Counter(map(repr, job.rows(f"SELECT * FROM {table}")))


def _asked(data: Path, job: str, ask: Callable[[PublishedJob], list[str]]) -> list[str]:
    """Of one version; where the next one took its place meanwhile, of that."""
    while True:
        try:
            folder = published_folder(data, job)
        except NotPublished as fault:
            return [f"{job}: {fault}"]
        try:
            with closing(PublishedJob(folder, Limits())) as published:
                return [f"{job}: {one}" for one in ask(published)]
        except (IngestError, duckdb.IOException) as fault:
            if published_folder(data, job) == folder:
                return [f"{job}: {fault}"]
