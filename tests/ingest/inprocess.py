"""A job that was ingested without Spark and published, and its rows."""

from contextlib import closing
from pathlib import Path
from typing import Any

from bench.without_spark import ingest_here
from ingest.jobs.finish import finish
from ingest.jobs.growing import decode_growing, numbered
from ingest.jobs.parts import CutTask, PartSummary, PartTask, cut, work
from ingest.lake.packs import open_pack
from ingest.lake.publish import publish, published_folder
from ingest.lake.readers import Lake, PublishedJob
from ingest.transforms.planning import Plan
from replay.bundle.members import MANIFEST
from replay.model import Manifest


def ingested_here(pack: Path, data: Path, *, part_bytes: int | None = None) -> tuple[PublishedJob, dict[str, Any]]:
    staging = data / "staging"
    result = ingest_here("j_1", pack, staging, part_bytes=part_bytes)
    publish(data, staging, "j_1", "w", 0)
    return Lake(data).job("j_1"), result


def rows_of(job: PublishedJob, table: str) -> list[dict[str, Any]]:
    """Rows of a table in the order in which they are stored, without what is null."""
    columns, rows = job.columns_and_rows(f"SELECT * FROM {table}")
    return [{c: v for c, v in zip(columns, row, strict=True) if v is not None} for row in rows]


def next_version(pack: Path, data: Path, version: int, *, segment_bytes: int) -> tuple[PublishedJob, dict[str, Any]]:
    """The next version of a growing job, published over the one that is there."""
    staging = data / f"staging-{version}"
    before = published_folder(data, "j_1") if version else None
    result = version_here("j_1", pack, before, staging, segment_bytes=segment_bytes)
    publish(data, staging, "j_1", "w", version)
    return Lake(data).job("j_1"), result


def version_here(
    job: str, pack: Path | str, before: Path | None, staging: Path, *, segment_bytes: int
) -> dict[str, Any]:
    """Fills the staging folder; `decoded`: how many bytes were read for it."""
    decoded = [0]
    staging.mkdir(parents=True)

    def decode(plan: Plan, first: int, goes_on: bool) -> list[PartSummary]:
        decoded[0] += plan.bytes
        to_cut = (CutTask(n, plan.logs.some(slice(n, n + 1)), str(pack), plan.limit) for n in plan.long_logs)
        parts = numbered(plan.parts(dict(map(cut, to_cut))), first)
        return [work(PartTask(part, str(pack), str(staging), plan.tasks, None, goes_on)) for part in parts]

    with closing(open_pack(pack)) as opened:
        manifest = Manifest.from_json(opened.read(MANIFEST))
        plan, summaries = decode_growing(opened, manifest, before, staging, decode, segment_bytes=segment_bytes)
    result = finish(job, staging, pack, manifest, plan, summaries, growing=True)
    return result | {"decoded": decoded[0]}
