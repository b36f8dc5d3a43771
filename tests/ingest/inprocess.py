"""A job that was ingested without Spark and published, and its rows."""

from pathlib import Path
from typing import Any

from bench.without_spark import ingest_here
from ingest.lake.publish import publish
from ingest.lake.readers import Lake, PublishedJob


def ingested_here(pack: Path, data: Path, *, part_bytes: int | None = None) -> tuple[PublishedJob, dict[str, Any]]:
    staging = data / "staging"
    result = ingest_here("j_1", pack, staging, part_bytes=part_bytes)
    publish(data, staging, "j_1", "w", 0)
    return Lake(data).job("j_1"), result


def rows_of(job: PublishedJob, table: str) -> list[dict[str, Any]]:
    """Rows of a table in the order in which they are stored, without what is null."""
    columns, rows = job.columns_and_rows(f"SELECT * FROM {table}")
    return [{c: v for c, v in zip(columns, row, strict=True) if v is not None} for row in rows]
