"""One ingest in the warm driver: plan, decode in Spark tasks, roll-ups and manifest. Publishing is the caller's."""

from __future__ import annotations

import re
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
from ingest.jobs.finish import finish
from ingest.jobs.parts import PartSummary, PartTask, run_part
from ingest.jobs.telling import begin, bytes_read, end
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
        return finish(self.job, self.staging, self.pack, manifest, plan, summaries)

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
        telling = self.staging / "telling"
        told = str(telling)
        tasks = [PartTask(part, self.pack, str(self.staging), manifest, told) for part in plan.parts]
        if not tasks:
            return []
        context.setJobGroup(self.group, self.job, interruptOnCancel=True)
        self._check_stop()
        begin(telling)
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(context, plan, telling, done), daemon=True)
        watcher.start()
        try:
            return context.parallelize(tasks, len(tasks)).map(run_part).collect()
        except Exception as fault:
            self._check_stop()
            if isinstance(fault, (Py4JNetworkError, ConnectionError)) or _lost_its_jvm(context):
                raise JvmGone("the JVM ended in the middle of its work") from fault
            raise IngestFailed(f"decoding failed: {why_of(str(fault))}") from fault
        finally:
            done.set()
            watcher.join()
            end(telling)

    def _watch(self, context: SparkContext, plan: Plan, telling: Path, done: threading.Event) -> None:
        """Tells how far the tasks are, and stops them when that is asked for, until they are done."""
        tracker, read = context.statusTracker(), 0
        while not done.is_set():
            if self.stop.is_set():  # again and again: the tasks may not have been submitted yet
                context.cancelJobGroup(self.group)
            finished = 0
            for job in tracker.getJobIdsForGroup(self.group):
                info = tracker.getJobInfo(job)
                stages = [tracker.getStageInfo(stage) for stage in info.stageIds] if info else []
                finished += sum(stage.numCompletedTasks for stage in stages if stage)
            message = f"{finished} of {len(plan.parts)} parts are written" if finished else "Reading logs and channels"
            # A task that Spark does again begins its count again; bytes that were told stay told.
            read = max(read, min(bytes_read(telling), plan.bytes))
            self._progress("decoding", read, plan.bytes, message)
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


def why_of(traces: str) -> str:
    """The one sentence in Spark's pages of traces: the last line that names an error, and what to do."""
    lines = [line.strip().removeprefix("Caused by: ") for line in traces.splitlines()]
    named = [line for line in lines if _NAMES_ERROR.match(line)]
    what = (named or lines or ["no reason was given"])[-1][:300].rstrip(".")
    if "No space left" in what or "Disk quota exceeded" in what:
        return f"the disk is full ({what}). Make room, then retry."
    if "MemoryError" in what or _WORKER_CRASHED in traces:
        return "a task needs more memory than it may use. Record with smaller epochs, or raise the limit."
    return f"{what}. The log has the whole story."


# Where Arrow or numpy cannot have more memory, they end the process.
_WORKER_CRASHED = "Python worker exited unexpectedly (crashed)"
_NAMES_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
