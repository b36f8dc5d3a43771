"""The ingest without Spark: the same plan, parts and end, one part after the other in this process."""

from pathlib import Path
from typing import Any

from ingest.jobs.finish import finish
from ingest.jobs.parts import PartTask, work
from ingest.lake.publish import publish
from ingest.lake.readers import Lake, PublishedJob
from ingest.transforms.planning import plan_ingest
from replay.bundle.members import MANIFEST
from replay.bundle.pack import Pack
from replay.model import Graph, Manifest


def ingested_here(pack: Path, data: Path, *, part_bytes: int | None = None) -> tuple[PublishedJob, dict[str, Any]]:
    staging = data / "staging"
    staging.mkdir(parents=True)
    opened = Pack(pack)
    manifest = Manifest.from_json(opened.read(MANIFEST))
    plan = plan_ingest(opened, Graph(manifest), part_bytes=part_bytes)
    opened.close()
    summaries = [work(PartTask(part, str(pack), str(staging), manifest)) for part in plan.parts]
    result = finish("j_1", staging, pack, manifest, plan, summaries)
    publish(data, staging, "j_1", "w", 0)
    return Lake(data).job("j_1"), result | {"parts": len(plan.parts)}


def rows_of(job: PublishedJob, table: str) -> list[dict[str, Any]]:
    """Rows of a table in the order in which they are stored, without what is null."""
    columns, rows = job.columns_and_rows(f"SELECT * FROM {table}")
    return [{c: v for c, v in zip(columns, row, strict=True) if v is not None} for row in rows]
