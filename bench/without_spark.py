"""The ingest without Spark: the same plan, parts and end, one part after the other here, or in a pool of processes."""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from ingest.jobs.finish import finish
from ingest.jobs.parts import CutTask, PartTask, cut, run_cut, run_part, work
from ingest.lake.packs import open_pack
from ingest.lake.places import Place
from ingest.transforms.planning import plan_ingest
from replay.bundle.members import MANIFEST
from replay.model import Graph, Manifest


def ingest_here(
    job: str, pack: Place | str, staging: Place, *, part_bytes: int | None = None, pool: Executor | None = None
) -> dict[str, Any]:
    """Fills the staging place, a folder being made; publishing is the caller's. With `parts`, how many there were."""
    if isinstance(staging, Path):
        staging.mkdir(parents=True)
    opened = open_pack(pack)
    try:
        manifest = Manifest.from_json(opened.read(MANIFEST))
        plan = plan_ingest(opened, Graph(manifest), part_bytes=part_bytes)
    finally:
        opened.close()
    to_cut = (CutTask(n, plan.logs.some(slice(n, n + 1)), str(pack), plan.limit) for n in plan.long_logs)
    parts = plan.parts(dict(map(cut, to_cut) if pool is None else pool.map(run_cut, to_cut)))
    to_write = [PartTask(part, str(pack), str(staging), plan.tasks) for part in parts]
    summaries = list(map(work, to_write) if pool is None else pool.map(run_part, to_write))
    result = finish(job, staging, pack, manifest, plan, summaries)
    return result | {"parts": len(parts)}
