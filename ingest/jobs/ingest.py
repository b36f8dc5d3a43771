"""One ingest in the warm driver: plan, decode in Spark tasks, roll-ups and manifest. Publishing is the caller's."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from ingest.errors import IngestFailed
from ingest.jobs.cluster import SameCode, code_digest, is_stopped
from ingest.jobs.finish import finish
from ingest.jobs.growing import decode_growing, numbered
from ingest.jobs.parts import CutTask, PartSummary, PartTask, run_cut, run_part
from ingest.jobs.progress import DecodingProgress, FinishingProgress
from ingest.jobs.telling import Told, begin, end
from ingest.lake.errors import OutOfReach
from ingest.lake.packs import open_pack
from ingest.lake.places import InBucket, Place, remove
from ingest.masters import is_cluster
from ingest.transforms.planning import Plan, plan_ingest
from replay.bundle.members import MANIFEST
from replay.errors import ReplayError
from replay.model import Graph, Manifest

Tell = Callable[[dict[str, Any]], None]
T = TypeVar("T")  # what a task is
S = TypeVar("S")  # and what it gives back
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
    staging: Place
    group: str
    tell: Tell
    stop: threading.Event
    growing: bool = False
    """Whether it is a version of many: what was decoded for the one before is shared."""
    before: Path | None = None
    """The folder of that one."""

    def run(self, context: SparkContext) -> dict[str, Any]:
        """The result as a dictionary; raises `IngestFailed` with one sentence, or `Stopped`."""
        try:
            return self._run(context)
        except (ReplayError, OutOfReach) as fault:
            raise IngestFailed(str(fault)) from fault
        except OSError as fault:
            if isinstance(fault, FileNotFoundError) and fault.filename == self.pack:
                raise IngestFailed(f"the bundle {self.pack} is gone. Upload it again.") from fault
            raise IngestFailed(_unwritten(fault, self.staging)) from fault

    def _run(self, context: SparkContext) -> dict[str, Any]:
        self._progress("planning", message="Reading the index")
        self._empty_staging()
        manifest, plan, summaries = self._decoded(context)
        self._check_stop()
        self._progress("finishing", message="Adding up what the parts tell")
        progress = FinishingProgress()

        def tell(what: str, done: int, total: int) -> None:
            self._check_stop()
            self.tell(progress.told(what, done, total))

        growing = self.growing
        return finish(self.job, self.staging, self.pack, manifest, plan, summaries, tell, growing=growing)

    def _empty_staging(self) -> None:
        remove(self.staging)
        if isinstance(self.staging, Path):
            self.staging.mkdir(parents=True)

    def _decoded(self, context: SparkContext) -> tuple[Manifest, Plan, list[PartSummary]]:
        if not self.growing:
            with closing(open_pack(self.pack)) as pack:
                manifest = Manifest.from_json(pack.read(MANIFEST))
                plan = plan_ingest(pack, Graph(manifest))
            return manifest, plan, self._decode(context, plan)
        with closing(open_pack(self.pack)) as pack:
            manifest = Manifest.from_json(pack.read(MANIFEST))

            def decode(plan: Plan, first: int, goes_on: bool) -> list[PartSummary]:
                return self._decode(context, plan, first, goes_on)

            if not isinstance(self.staging, Path):
                raise IngestFailed(
                    "versions of a recording that grows are made in a folder, and sent from there. "
                    "Ingest it when it is complete."
                )
            return manifest, *decode_growing(pack, manifest, self.before, self.staging, decode)

    def _decode(self, context: SparkContext, plan: Plan, first: int = 0, goes_on: bool = False) -> list[PartSummary]:
        # In a bucket tasks don't tell how far they are within a part: each word would be a request.
        telling = self.staging / "telling" if isinstance(self.staging, Path) else None
        begin(telling)
        try:
            parts = numbered(plan.parts(self._cuts(context, plan)), first)
            told = str(telling) if telling is not None else None
            tasks = [PartTask(part, self.pack, str(self.staging), plan.tasks, told, goes_on) for part in parts]
            progress = DecodingProgress(plan.bytes, len(parts), Told(telling))
            return self._in_tasks(context, run_part, tasks, lambda done: self.tell(progress.told(done)))
        finally:
            end(telling)

    def _cuts(self, context: SparkContext, plan: Plan) -> dict[int, list[tuple[int, int]]]:
        """Where logs can be cut that are too long for one task."""
        long_logs = plan.long_logs
        message = f"Measuring {len(long_logs)} long logs" if len(long_logs) != 1 else "Measuring a long log"
        tasks = [CutTask(n, plan.logs.some(slice(n, n + 1)), self.pack, plan.limit) for n in long_logs]
        return dict(
            self._in_tasks(context, run_cut, tasks, lambda _: self._progress("decoding", 0, plan.bytes, message))
        )

    def _in_tasks(
        self, context: SparkContext, run: Callable[[T], S], tasks: list[T], tell: Callable[[int], None]
    ) -> list[S]:
        """What tasks give back, one for each; `tell` is told now and then how many are done."""
        self._check_stop()
        if not tasks:
            return []
        context.setJobGroup(self.group, self.job, interruptOnCancel=True)
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(context, tell, done), daemon=True)
        watcher.start()
        try:
            doing = SameCode(run, code_digest()) if is_cluster(context.master) else run
            return context.parallelize(tasks, len(tasks)).map(doing).collect()
        except Exception as fault:
            self._check_stop()
            if isinstance(fault, (Py4JNetworkError, ConnectionError)) or _lost_its_jvm(context):
                raise JvmGone("the JVM ended in the middle of its work") from fault
            raise IngestFailed(f"decoding failed: {why_of(str(fault))}") from fault
        finally:
            done.set()
            watcher.join()

    def _watch(self, context: SparkContext, tell: Callable[[int], None], done: threading.Event) -> None:
        """Tells how far the tasks are, and stops them when that is asked for, until they are done."""
        tracker = context.statusTracker()
        before = set(tracker.getJobIdsForGroup(self.group))
        while not done.is_set():
            if self.stop.is_set():  # again and again: the tasks may not have been submitted yet
                context.cancelJobGroup(self.group)
            finished = 0
            for job in set(tracker.getJobIdsForGroup(self.group)) - before:
                info = tracker.getJobInfo(job)
                stages = [tracker.getStageInfo(stage) for stage in info.stageIds] if info else []
                finished += sum(stage.numCompletedTasks for stage in stages if stage)
            tell(finished)
            done.wait(LOOK_S)

    def _progress(self, phase: str, done: int = 0, total: int = 0, message: str = "") -> None:
        self.tell({"phase": phase, "done": done, "total": total, "unit": "bytes", "message": message})

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise Stopped


def _unwritten(fault: OSError, staging: Place) -> str:
    if isinstance(staging, InBucket):
        return f"{fault.filename or staging} could not be read or written: {fault.strerror or fault}. Retry later."
    return f"{fault.filename or staging}: {fault.strerror}. Make room, then retry."


def _lost_its_jvm(context: SparkContext) -> bool:
    """Whether the JVM has ended, or is just ending; or a cluster has ended what ran in it."""
    try:
        context._gateway.proc.wait(JVM_PATIENCE_S)  # type: ignore[union-attr]
    except subprocess.TimeoutExpired:
        return is_cluster(context.master) and is_stopped(context)
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
_NAMES_ERROR = re.compile(r"[\w.]*(Error|Exception|OutOfReach)\b")
