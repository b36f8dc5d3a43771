"""Submits work to child processes: one warm Spark driver for ingests, one child per replay. Standard library only.

Children that are asked one thing alone are in `asked`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ingest.asked import (
    LOOK_S,
    Cancelled,
    OnProgress,
    Progress,
    answered,
    never,
    run_audit,
    run_comparison,
    run_import,
    run_question,
    run_steps,
)
from ingest.errors import (
    DriverDied,
    IngestCancelled,
    IngestError,
    IngestFailed,
    ReplayChildDied,
    ReplayFailed,
)
from ingest.java import find_java, java_home
from ingest.masters import is_cluster
from ingest.pipes import ROOT, Child, ChildGone, child_environment, ending
from ingest.replay_limits import CPU, TIME, ReplayLimits
from ingest.room import not_written

__all__ = [
    "DriverDied",
    "IngestCancelled",
    "IngestError",
    "IngestFailed",
    "IngestRequest",
    "IngestResult",
    "Progress",
    "ReplayChildDied",
    "ReplayFailed",
    "ReplayLimits",
    "ReplayRequest",
    "SpareReplay",
    "SparkDriver",
    "find_java",
    "java_home",
    "not_written",
    "run_audit",
    "run_comparison",
    "run_import",
    "run_question",
    "run_replay",
    "run_steps",
]

CANCEL_PATIENCE_S = 2.0
STOP_PATIENCE_S = 2.0
START_PATIENCE_S = 90.0
# Its machines are given by others, and start something of their own.
CLUSTER_PATIENCE_S = 240.0
OVERTIME_S = 15.0


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Decode `pack` into `staging`, a folder of this attempt alone, or `s3://…` both; publishing is the caller's."""

    job: str
    pack: Path | str
    staging: Path | str
    work: str
    attempt: int
    growing: bool = False
    """Whether more versions will follow: each shares with the one before, whose folder is `before`, what it can."""
    before: Path | None = None


@dataclass(frozen=True, slots=True)
class IngestResult:
    """`ready`, or `ready-partial` with the number of rejects; `facts` is what the job page shows."""

    status: str
    rejects: int
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Replay `task`'s recovery from `failure`, or re-execute its `attempt`, writing steps into `folder`.

    With `change` it is a fork of that, at `fork_step`; `before` are the forks that it is one of, and `diverged_at` is
    where the replay diverged that was forked first.
    """

    pack: Path
    folder: Path
    task: str | None = None
    failure: int | None = None
    attempt: int | None = None
    on_divergence: str = "stop"
    hunt: bool = False
    until: str = "snapshot"
    fork_step: int | None = None
    change: dict[str, Any] | None = None
    before: Sequence[Mapping[str, Any]] = ()
    diverged_at: int | None = None
    limits: ReplayLimits = field(default_factory=ReplayLimits)


class SparkDriver:
    """One warm Spark driver process, started when first needed and stopped when idle. One ingest at a time."""

    def __init__(
        self, data: Path, log_path: Path, *, heap_mib: int = 1024, idle_s: float = 600.0, cores: int | None = None
    ) -> None:
        self.data = Path(data).absolute()
        self.log_path = Path(log_path).absolute()
        self.heap_mib = heap_mib
        self.idle_s = idle_s
        self.cores = cores
        self._busy = threading.Lock()
        self._state = threading.Lock()
        self._child: Child | None = None
        self._idle: threading.Timer | None = None
        self._ready: Child | None = None
        self._stopping = False
        self._requests = 0

    @property
    def pid(self) -> int | None:
        """The driver's process id while it runs."""
        child = self._child
        return child.pid if child is not None and child.alive else None

    def start(self) -> None:
        """Starts the driver ahead of the first ingest; returns at once, while it warms up."""
        with self._state:
            self._start()
        # An ingest that never comes leaves it idle like one that has ended.
        if self._busy.acquire(blocking=False):
            try:
                self._rest()
            finally:
                self._busy.release()

    def ingest(
        self, request: IngestRequest, on_progress: OnProgress = lambda _: None, cancelled: Cancelled = never
    ) -> IngestResult:
        """Runs one ingest to its end. Raises `IngestFailed`, `DriverDied` or `IngestCancelled`."""
        while not self._busy.acquire(timeout=LOOK_S):
            if cancelled():
                raise IngestCancelled("cancelled while waiting for the Spark driver")
        try:
            return self._ingest(request, on_progress, cancelled)
        finally:
            self._rest()
            self._busy.release()

    def stop(self) -> None:
        """Ends the driver, its JVM and its workers. A running ingest raises `DriverDied`. May be started again."""
        with self._state:
            self._stopping = True
            self._cancel_idle()
            child, self._child = self._child, None
        if child is not None:
            child.end(STOP_PATIENCE_S)
        with self._state:
            self._stopping = False

    def _ingest(self, request: IngestRequest, on_progress: OnProgress, cancelled: Cancelled) -> IngestResult:
        with self._state:
            self._cancel_idle()
            cold = self.pid is None
            child = self._start()
            self._requests += 1
            number = self._requests
        if cold:
            on_progress(Progress("starting", message="Starting Spark"))
        try:
            child.send({"ingest": number, **_ingest_message(request)})
            return self._follow(child, number, on_progress, cancelled)
        except ChildGone as gone:
            raise self._died(child, gone) from gone
        except (IngestFailed, IngestCancelled):
            raise
        except BaseException:
            self._drop(child)  # its pipe now holds answers to a question nobody asks
            raise

    def _follow(self, child: Child, number: int, on_progress: OnProgress, cancelled: Cancelled) -> IngestResult:
        patience_s = CLUSTER_PATIENCE_S if is_cluster(os.environ.get("SPARK_MASTER")) else START_PATIENCE_S
        late_s = time.monotonic() + patience_s
        while True:
            if cancelled():
                raise self._cancel(child, number)
            message = child.receive(LOOK_S)
            if message is not None and message.get("ready"):
                self._ready = child
            if self._ready is not child and time.monotonic() > late_s:
                # A JVM that dies while Spark connects to it can leave the driver waiting for good.
                raise ChildGone(f"Spark was not ready within {patience_s:g} s{_of_a_cluster()}")
            if message is None or message.get("of") != number:
                continue
            if "progress" in message:
                on_progress(Progress(**message["progress"]))
            elif "result" in message:
                return IngestResult(**message["result"])
            elif "failed" in message:
                raise IngestFailed(message["failed"])

    def _cancel(self, child: Child, number: int) -> IngestCancelled:
        """Asks the driver to stop the job, so that it stays warm; one that does not answer soon is killed."""
        child.send({"cancel": number})
        patience = int(CANCEL_PATIENCE_S / LOOK_S)
        for _ in range(patience):
            message = child.receive(LOOK_S)
            if message and message.get("of") == number and not message.keys().isdisjoint(_LAST_WORDS):
                return IngestCancelled("cancelled")
        self._drop(child)
        return IngestCancelled("cancelled; the Spark driver had to be ended")

    def _died(self, child: Child, gone: ChildGone) -> DriverDied:
        status = self._drop(child)
        return DriverDied(
            f"the Spark driver ended in the middle of its work ({ending(status)}; {gone}). "
            f"Nothing was published; retry the job. Its log is {self.log_path}."
        )

    def _drop(self, child: Child) -> int:
        with self._state:
            if self._child is child:
                self._child = None
        return child.kill()

    def _start(self) -> Child:
        if self._stopping:
            raise DriverDied("the Spark driver is being stopped")
        if self._child is not None and self._child.alive:
            return self._child
        if self._child is not None:
            self._child.kill()
        self.data.mkdir(parents=True, exist_ok=True)
        self._child = Child(
            self._arguments(), log_path=self.log_path, environment=self._environment(), folder=self.data
        )
        return self._child

    def _arguments(self) -> list[str]:
        arguments = [sys.executable, "-m", "ingest.jobs.driver", "--data", str(self.data)]
        arguments += ["--log", str(self.log_path), "--heap-mib", str(self.heap_mib)]
        return arguments + (["--cores", str(self.cores)] if self.cores else [])

    def _environment(self) -> dict[str, str]:
        java = find_java()
        home = java_home(java, self.data / "spark")
        python = sys.executable
        if is_cluster(os.environ.get("SPARK_MASTER")):  # where it is on those machines, their owner knows
            python = os.environ.get("PYSPARK_PYTHON") or python
        return child_environment(JAVA_HOME=str(home), PYSPARK_PYTHON=python, PYSPARK_DRIVER_PYTHON=sys.executable)

    def _rest(self) -> None:
        with self._state:
            self._cancel_idle()
            if self._child is not None:
                self._idle = threading.Timer(self.idle_s, self._stop_if_idle)
                self._idle.daemon = True
                self._idle.start()

    def _stop_if_idle(self) -> None:
        if self._busy.acquire(blocking=False):
            try:
                self.stop()
            finally:
                self._busy.release()

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


def _of_a_cluster() -> str:
    """What a cluster needs that lets nobody begin."""
    master = os.environ.get("SPARK_MASTER", "")
    return f": {master} must have workers with a free core, and memory for them" if is_cluster(master) else ""


_LAST_WORDS = frozenset(("result", "failed", "cancelled"))


def _ingest_message(request: IngestRequest) -> dict[str, Any]:
    return {
        "job": request.job,
        "pack": _address(request.pack),
        "staging": _address(request.staging),
        "work": request.work,
        "attempt": request.attempt,
        "growing": request.growing,
        "before": str(Path(request.before).absolute()) if request.before else None,
    }


def _address(place: Path | str) -> str:
    return str(place) if str(place).startswith("s3://") else str(Path(place).absolute())


class SpareReplay:
    """A replay's child that is started ahead, so that the first step does not wait for its libraries.

    Its log is that of the replay it is for. It ends, as any child, with the process that started it.
    """

    def __init__(self, log_path: Path) -> None:
        self._log_path = log_path
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._stopped = False

    def prepare(self) -> None:
        """Starts one unless one is there; returns at once, while it loads."""
        with self._lock:
            if not self._stopped and (self._child is None or not self._child.alive):
                if self._child is not None:
                    self._child.kill()
                self._child = _replay_child(self._log_path)

    def take(self) -> Child:
        """The one that is there, else a new one."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None and child.alive:
            return child
        if child is not None:
            child.kill()
        return _replay_child(self._log_path)

    def stop(self) -> None:
        """Ends the one that is there; no more are started."""
        with self._lock:
            self._stopped = True
            child, self._child = self._child, None
        if child is not None:
            child.kill()


def _replay_child(log_path: Path) -> Child:
    return Child(
        [sys.executable, "-m", "ingest.jobs.replay"], log_path=log_path, environment=child_environment(), folder=ROOT
    )


def run_replay(
    request: ReplayRequest,
    log_path: Path,
    on_progress: OnProgress = lambda _: None,
    cancelled: Cancelled = never,
    *,
    spare: SpareReplay | None = None,
) -> dict[str, Any]:
    """Runs one replay in a child of its own and returns its outcome as a dictionary. A spare has the same log.

    Raises `ReplayFailed`, `ReplayChildDied` or `IngestCancelled`.
    """
    child = _replay_child(log_path) if spare is None else spare.take()
    latest_s = time.monotonic() + request.limits.wall_s + OVERTIME_S
    try:
        child.send(_replay_message(request) | {"log": str(Path(log_path).absolute())})
        while not cancelled():
            if time.monotonic() > latest_s:  # its own alarm is not heard where C code holds the interpreter
                raise ReplayFailed(f"{request.limits.reached(TIME)}.")
            message = child.receive(LOOK_S)
            if message is None:
                continue
            if "progress" in message:
                on_progress(Progress(**message["progress"]))
            elif "outcome" in message:
                return dict(message["outcome"])
            elif "failed" in message:
                raise ReplayFailed(message["failed"])
        raise IngestCancelled("cancelled")
    except ChildGone as gone:
        used_s = child.cpu_s()
        status = child.kill()
        if used_s >= request.limits.cpu_s:
            raise ReplayFailed(f"{request.limits.reached(CPU)}.") from None
        raise ReplayChildDied(
            f"the replay's process ended in the middle of its work ({ending(status)}; {gone}). Retry it. "
            f"Its log is {log_path}."
        ) from gone
    finally:
        child.kill()


def run_excerpt(request: ReplayRequest, out: Path, log_path: Path, cancelled: Cancelled = never) -> dict[str, Any]:
    """Writes the smallest bundle that diverges as that replay does, in a child of its own.

    Raises `ReplayFailed` or `ReplayChildDied`.
    """
    limits = request.limits
    too_long = f"the excerpt was given up after {limits.wall_s:,} s: `replay --shrink` takes all the time it needs"
    asked = _replay_message(request) | {"out": str(Path(out).absolute())}
    return answered("excerpt", "excerpt", asked, too_long, limits, log_path, cancelled)


def _replay_message(request: ReplayRequest) -> dict[str, Any]:
    return {
        "pack": str(Path(request.pack).absolute()),
        "folder": str(Path(request.folder).absolute()),
        "task": request.task,
        "failure": request.failure,
        "attempt": request.attempt,
        "on_divergence": request.on_divergence,
        "hunt": request.hunt,
        "until": request.until,
        "fork_step": request.fork_step,
        "change": request.change,
        "before": [dict(one) for one in request.before],
        "diverged_at": request.diverged_at,
        "limits": asdict(request.limits),
    }
