"""The end of an ingest: from what the parts summed up to roll-ups, rejects, facts and the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.jobs.parts import PartSummary
from ingest.lake.manifest import LakeManifest, in_table_order
from ingest.lake.schema import COUNTS, EPOCHS, FLOWS, REJECTS
from ingest.lake.writers import FileSummary, write_rows
from ingest.transforms.places import LogKey, Times
from ingest.transforms.planning import Plan
from replay.bundle.reader import open_bundle
from replay.guarantees.observed.delivery import delivery
from replay.model import Manifest


def finish(
    job: str, staging: Path, pack: Path | str, manifest: Manifest, plan: Plan, summaries: list[PartSummary]
) -> dict[str, Any]:
    """Writes what is left into the staging folder, the manifest last; returns status, rejects and facts."""
    return _Finish(job, staging, pack, manifest, plan, summaries).run()


@dataclass(frozen=True, slots=True)
class _Finish:
    """From the parts' summaries: roll-ups, rejects, facts and the manifest."""

    job: str
    staging: Path
    pack: Path | str
    manifest: Manifest
    plan: Plan
    summaries: list[PartSummary]

    def run(self) -> dict[str, Any]:
        rejects = [*self.plan.rejects, *(reject for one in self.summaries for reject in one.rejects)]
        epochs = self._epochs()
        files: list[FileSummary] = [file for one in self.summaries for file in one.files]
        counts = [(*key, kind, n, size) for one in self.summaries for key, kind, n, size in one.counts if n]
        flows = [tuple(flow) for one in self.summaries for flow in one.flows]
        tables = ((EPOCHS, epochs), (REJECTS, rejects), (COUNTS, counts), (FLOWS, flows))
        for table, rows in tables:
            files += write_rows(table, self.staging, "part-00000", rows)
        facts = self._facts(epochs, files, flows)
        spans = tuple(span for one in self.summaries for span in one.spans)
        LakeManifest(self.job, in_table_order(files), spans, facts, len(rejects)).write(self.staging)
        return {"status": "ready-partial" if rejects else "ready", "rejects": len(rejects), "facts": facts}

    def _epochs(self) -> list[tuple[Any, ...]]:
        """All epochs of all threads: those with determinants, and those that only times tell of."""
        sums: dict[LogKey, tuple[int, int]] = {}
        times = Times()
        for one in self.summaries:
            times.merge(one.times)
            for key, _, count, size in one.counts:
                known = sums.get(key, (0, 0))
                sums[key] = (known[0] + count, known[1] + size)
        keys = sorted({*sums, *times.seen})
        return [(*key, *sums.get(key, (0, 0)), *times.seen.get(key, (None, None))) for key in keys]

    def _facts(
        self, epochs: list[tuple[Any, ...]], files: list[FileSummary], flows: list[tuple[Any, ...]]
    ) -> dict[str, Any]:
        manifest = self.manifest
        rows = {table: sum(f.rows for f in files if f.table == table) for table in {f.table for f in files}}
        return {
            "name": manifest.job.name,
            "recorder": manifest.job.recorder,
            "recorded_at": manifest.job.recorded_at,
            "origin_ms": manifest.clock.origin_ms,
            "protocol": manifest.protocol.name,
            "sharing_depth": "full" if manifest.protocol.sharing_depth is None else manifest.protocol.sharing_depth,
            "complete": manifest.complete,
            "vertices": len(manifest.vertices),
            "tasks": len(manifest.tasks),
            "channels": sum(len(task.outputs) for task in manifest.tasks),
            "attempts": sum(self.plan.attempts.get(task.id, 0) for task in manifest.tasks),
            "epochs": len({row[3] for row in epochs}),
            "determinants": rows.get("determinants", 0),
            "determinant_bytes": sum(row[5] for row in epochs),
            "buffers": rows.get("buffers", 0),
            "records": sum(flow[5] for flow in flows),
            "sendings": rows.get("sendings", 0),
            "delta_bytes": sum(flow[9] for flow in flows),
            "events": rows.get("events", 0),
            "checkpoints": rows.get("checkpoints", 0),
            "bytes": self.plan.bytes,
            "duration_us": max((one.last_us for one in self.summaries), default=0),
            "failures": [failure for one in self.summaries for failure in one.failures],
            "rows": rows,
            **self._delivery(),
        }

    def _delivery(self) -> dict[str, Any]:
        """Of ordinary engines: whether what was given to the outside was given once."""
        if not self.manifest.protocol.observed:
            return {}
        with open_bundle(self.pack) as bundle:
            return {"delivery": delivery(bundle)}
