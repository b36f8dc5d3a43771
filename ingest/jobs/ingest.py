"""One ingest in the warm driver: plan, decode in Spark tasks, roll-ups and manifest. Publishing is the caller's."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from ingest.errors import IngestFailed
from ingest.jobs.parts import PartSummary, PartTask, run_part
from ingest.lake.manifest import LakeManifest, in_table_order
from ingest.lake.schema import COUNTS, EPOCHS, FLOWS, REJECTS
from ingest.lake.writers import FileSummary, write_rows
from ingest.transforms.places import LogKey, Times
from ingest.transforms.planning import Plan, plan_ingest
from replay.bundle.members import MANIFEST
from replay.bundle.pack import Pack
from replay.errors import ReplayError
from replay.model import Graph, Manifest

Tell = Callable[[dict[str, Any]], None]
LOOK_S = 0.1
JVM_PATIENCE_S = 0.3


class Stopped(Exception):
    """The ingest was asked to stop."""


class JvmGone(Exception):
    """The JVM has ended: this process cannot go on, and another must be started."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """One request in the driver. `stop` is set when it is cancelled."""

    job: str
    pack: str
    staging: Path
    group: str
    tell: Tell
    stop: threading.Event

    def run(self, context: SparkContext) -> dict[str, Any]:
        """The result as a dictionary; raises `IngestFailed` with one sentence, or `Stopped`."""
        try:
            return self._run(context)
        except ReplayError as fault:
            raise IngestFailed(str(fault)) from fault
        except OSError as fault:
            raise IngestFailed(f"{fault.filename or self.staging}: {fault.strerror}. Make room, then retry.") from fault

    def _run(self, context: SparkContext) -> dict[str, Any]:
        self._progress("planning", message="Reading the index")
        self._empty_staging()
        manifest, plan = self._plan()
        summaries = self._decode(context, manifest, plan)
        self._check_stop()
        self._progress("finishing", plan.bytes, plan.bytes, "Writing roll-ups")
        return _Finish(self.job, self.staging, manifest, plan, summaries).run()

    def _empty_staging(self) -> None:
        if self.staging.exists():
            shutil.rmtree(self.staging)
        self.staging.mkdir(parents=True)

    def _plan(self) -> tuple[Manifest, Plan]:
        pack = Pack(self.pack)
        try:
            manifest = Manifest.from_json(pack.read(MANIFEST))
            return manifest, plan_ingest(pack, Graph(manifest))
        finally:
            pack.close()

    def _decode(self, context: SparkContext, manifest: Manifest, plan: Plan) -> list[PartSummary]:
        tasks = [PartTask(part, self.pack, str(self.staging), manifest) for part in plan.parts]
        if not tasks:
            return []
        context.setJobGroup(self.group, self.job, interruptOnCancel=True)
        self._check_stop()
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(context, plan, done), daemon=True)
        watcher.start()
        try:
            return context.parallelize(tasks, len(tasks)).map(run_part).collect()
        except Exception as fault:
            self._check_stop()
            if isinstance(fault, (Py4JNetworkError, ConnectionError)) or _lost_its_jvm(context):
                raise JvmGone("the JVM ended in the middle of its work") from fault
            raise IngestFailed(f"decoding failed: {_first_line(fault)}. The log has the whole story.") from fault
        finally:
            done.set()
            watcher.join()

    def _watch(self, context: SparkContext, plan: Plan, done: threading.Event) -> None:
        """Tells how far the tasks are, and stops them when that is asked for, until they are done."""
        tracker = context.statusTracker()
        while not done.is_set():
            if self.stop.is_set():  # again and again: the tasks may not have been submitted yet
                context.cancelJobGroup(self.group)
            finished = 0
            for job in tracker.getJobIdsForGroup(self.group):
                info = tracker.getJobInfo(job)
                stages = [tracker.getStageInfo(stage) for stage in info.stageIds] if info else []
                finished += sum(stage.numCompletedTasks for stage in stages if stage)
            share = min(finished, len(plan.parts)) / len(plan.parts)
            message = f"{finished} of {len(plan.parts)} parts decoded"
            self._progress("decoding", int(plan.bytes * share), plan.bytes, message)
            done.wait(LOOK_S)

    def _progress(self, phase: str, done: int = 0, total: int = 0, message: str = "") -> None:
        self.tell({"phase": phase, "done": done, "total": total, "unit": "bytes", "message": message})

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise Stopped


def _lost_its_jvm(context: SparkContext) -> bool:
    """Whether the JVM has ended, or is just ending."""
    try:
        context._gateway.proc.wait(JVM_PATIENCE_S)  # type: ignore[union-attr]
    except subprocess.TimeoutExpired:
        return False
    return True


def _first_line(fault: Exception) -> str:
    """The last line that names an error: Spark wraps the tasks' own in pages of traces."""
    lines = [line.strip() for line in str(fault).splitlines() if "Error" in line or "Exception" in line]
    return (lines[-1] if lines else str(fault).strip())[:300] or type(fault).__name__


@dataclass(frozen=True, slots=True)
class _Finish:
    """From the parts' summaries: roll-ups, rejects, facts and the manifest."""

    job: str
    staging: Path
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
        }
