"""The end of an ingest: from what the parts summed up to roll-ups, rejects, facts and the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.jobs.causal_tables import Tell, write_causal_tables
from ingest.jobs.gathering import END_PART, gather
from ingest.jobs.parts import PartSummary
from ingest.lake.log_index import INDEX_GROUP_ROWS, KEY, LOG_INDEX
from ingest.lake.manifest import LakeManifest, in_table_order
from ingest.lake.packs import open_pack
from ingest.lake.places import Place
from ingest.lake.schema import COUNTS, EPOCHS, FLOWS, REJECTS, SECONDS
from ingest.lake.writers import FileSummary, write_columns, write_rows
from ingest.transforms.epochs import epochs_of
from ingest.transforms.planning import Plan
from replay.bundle.reader import Bundle
from replay.guarantees.observed.delivery import delivery
from replay.model import Manifest


def finish(
    job: str,
    staging: Place,
    pack: Place | str,
    manifest: Manifest,
    plan: Plan,
    summaries: list[PartSummary],
    tell: Tell = lambda what, done, total: None,
    *,
    growing: bool = False,
) -> dict[str, Any]:
    """Writes what is left into the staging folder, the manifest last; returns status, rejects and facts.

    `tell` is told what is being done, how many rows it is done with, and of how many; it may raise. `growing`: a part
    may have but some epochs of a channel.
    """
    return _Finish(job, staging, pack, manifest, plan, summaries, tell, growing).run()


@dataclass(frozen=True, slots=True)
class _Finish:
    """From the parts' summaries: roll-ups, rejects, facts and the manifest."""

    job: str
    staging: Place
    pack: Place | str
    manifest: Manifest
    plan: Plan
    summaries: list[PartSummary]
    tell: Tell
    growing: bool

    def run(self) -> dict[str, Any]:
        rejects = [*self.plan.rejects, *(reject for one in self.summaries for reject in one.rejects)]
        written = [file for one in self.summaries for file in one.files]
        index = self._index([file.path for file in written if file.table == LOG_INDEX.name])
        counts = [file.path for file in written if file.table == COUNTS.name]
        files = [file for file in written if file.table not in (LOG_INDEX.name, COUNTS.name)]
        files += gather(COUNTS, self.staging, counts, (*KEY, "kind"), rows=self._counts())
        files = self._with_seconds(files) if self.growing else files
        files += write_causal_tables(self.staging, self.manifest, files, self.tell)
        epochs = epochs_of([self.staging / file.path for file in index], [one.times for one in self.summaries])
        flows = pa.concat_tables([FLOWS.schema.empty_table(), *(one.flows for one in self.summaries)])
        files += write_rows(REJECTS, self.staging, END_PART, rejects)
        for table, columns in ((FLOWS, flows), (EPOCHS, epochs)):
            files += write_columns(table, self.staging, END_PART, columns)
        facts = self._facts(epochs, files, flows)
        LakeManifest(self.job, in_table_order(files), index, facts, len(rejects)).write(self.staging)
        return {"status": "ready-partial" if rejects else "ready", "rejects": len(rejects), "facts": facts}

    def _with_seconds(self, files: list[FileSummary]) -> list[FileSummary]:
        """A channel's second may be in several parts, where a part has only some of its epochs."""
        parts = [file.path for file in files if file.table == SECONDS.name]
        rest = [file for file in files if file.table != SECONDS.name]
        return rest + gather(SECONDS, self.staging, parts, ("channel", "second"), summed=True)

    def _index(self, parts: list[str]) -> tuple[FileSummary, ...]:
        return tuple(gather(LOG_INDEX, self.staging, parts, (*KEY, "offset"), row_group_rows=INDEX_GROUP_ROWS))

    def _counts(self) -> list[tuple[Any, ...]]:
        """Of logs that several parts read; of all others the parts have written them."""
        sums: dict[tuple[Any, ...], tuple[int, int]] = {}
        for one in self.summaries:
            for key, kind, count, size in one.counts:
                known = sums.get((*key, kind), (0, 0))
                sums[*key, kind] = (known[0] + count, known[1] + size)
        return [(*key, *both) for key, both in sorted(sums.items())]

    def _facts(self, epochs: pa.Table, files: list[FileSummary], flows: pa.Table) -> dict[str, Any]:
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
            "epochs": pc.count_distinct(epochs["epoch"]).as_py(),
            "determinants": rows.get("determinants", 0),
            "determinant_bytes": pc.sum(epochs["bytes"]).as_py() or 0,
            "buffers": rows.get("buffers", 0),
            "records": pc.sum(flows["records"]).as_py() or 0,
            "sendings": rows.get("sendings", 0),
            "delta_bytes": pc.sum(flows["delta_bytes"]).as_py() or 0,
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
        with Bundle(open_pack(self.pack)) as bundle:
            return {"delivery": delivery(bundle)}
