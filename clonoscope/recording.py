"""A recording of this process: where its segments lie, how much room they have, which tasks it has."""

from __future__ import annotations

import atexit
import fcntl
import json
import logging
import os
import secrets
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from clonoscope import identity
from clonoscope.arguments import Payload, Retry, check_arguments, check_code, check_when, redaction_for, whole
from clonoscope.errors import WrongUse
from clonoscope.fitting import too_large
from clonoscope.reading import CLOSED, forget_processes, processes_of
from clonoscope.redaction import VALUE, Redaction
from clonoscope.retention import Retention
from clonoscope.retries import Others, RetriedLog
from clonoscope.room import Claim
from clonoscope.segmented_log import SegmentedLog
from clonoscope.segments import SEGMENT_BYTES, SUFFIX, Segment, Supply, rest_of
from clonoscope.shapes import VERTEX, shown, text
from clonoscope.task_log import TaskLog
from clonoscope.tasks import Task
from clonoscope.unrecorded import UNRECORDED
from replay.errors import ReplayError

OUTSIDE = "outside"
"""The vertex of what is asked where no task is at work."""

stand_ins: list[Callable[[str], Any]] = []
"""What `start` gives in place of a recording, while a job's function is replayed where its code is."""
_log = logging.getLogger("clonoscope")


def start(
    name: str,
    *,
    dir: str | os.PathLike[str] = "clonoscope-recordings",  # noqa: A002 - the word that people look for
    keep: int | None = None,
    max_mb: float = 256,
    payload: Payload = "ref",
    redact: Sequence[str] = (),
    allow: Sequence[str] | None = None,
    key: bytes | str | os.PathLike[str] | None = None,
    dump_on: Iterable[str] = ("crash",),
    retry: Retry | None = None,
    sync: bool = False,
    code: Mapping[str, Any] | None = None,
) -> Recording:
    """Begins to record this process under that name; goes on with what earlier processes recorded there.

    `keep`: how many epochs of each task, all where None. `max_mb` bounds what lies in the folder. `payload`: records
    whole, as references, or no values at all. `redact`: paths in values that become tokens; with `allow` all
    but those do. `key`: of tokens, or its file, so that they are those of other processes. `dump_on`: when a bundle is
    written by itself: `crash`, `recovery`, `exit`. `retry`: with `replay`, what is executed once more is given the
    answers that it was given. `sync`: an epoch ends when it is on the disk. `code`: which code this is, where that is
    known better than by looking here. Raises `WrongUse` for what can't be meant so, and nothing else.
    """
    check_arguments(name, dir, keep, max_mb, payload, retry, sync=sync)
    check_when(dump_on)
    check_code(code)
    if stand_ins:
        stand_in: Recording = stand_ins[-1](name)
        return stand_in
    redaction = redaction_for(redact, allow, payload, key, retry)
    recording = Recording(
        name,
        Path(dir),
        keep,
        int(max_mb * (1 << 20)),
        payload,
        redaction,
        tuple(dump_on),
        retry,
        sync,
        code,
    )
    recording.begin()
    return recording


class Recording:
    """Made by `start`. Nothing that goes wrong with the disk is raised: it is in `faults`, and a gap in the bundle."""

    segment_bytes = SEGMENT_BYTES

    def __init__(
        self,
        name: str,
        folder: Path,
        keep: int | None,
        max_bytes: int,
        payload: Payload,
        redaction: Redaction,
        dump_on: tuple[str, ...],
        retry: Retry | None = None,
        sync: bool = False,
        code: Mapping[str, Any] | None = None,
    ):
        self.name = name
        self.folder = Path(os.path.abspath(folder)) / name
        self.payload = payload
        self.redaction = redaction
        self.dump_on = dump_on
        self.retry = retry
        self.sync = sync
        self.faults: list[str] = []
        self.process = ""
        self.retention = Retention(self.folder, keep, max_bytes)
        self._lock = threading.RLock()
        self._tasks: dict[str, Task] = {}
        self._supply = self._new_supply()
        self._alive: int | None = None
        self._open = True
        # The thread that closes it: ends are told as well, and may need a segment.
        self._closing: int | None = None
        # Logs of epochs that are not over. A process without any may end at any time: nothing is missing.
        self._at_work: set[SegmentedLog] = set()
        self._resting = False
        # Looked up once: it takes a while, and a child's is its parent's.
        self._code = identity.code_here() if code is None else dict(code)

    def begin(self) -> None:
        """Makes the folder, and says that this process lives."""
        try:
            left = "recovery" in self.dump_on and self._left_behind()
            self._announce()
            self.retention.look()
            if self.retention.oldest_ns is not None:
                forget_processes(self.folder, self.retention.oldest_ns)
            if left:
                self.crashed()
        except OSError as fault:
            self.at_fault(f"{self.folder}: {fault.strerror or fault}")
        except ReplayError as fault:
            self.at_fault(str(fault))
        UNRECORDED.elsewhere = self.task(OUTSIDE).log
        _RECORDINGS.add(self)
        if "crash" in self.dump_on:
            _watch_crashes()
        _close_at_the_end(self)

    def _announce(self) -> None:
        """A file that is locked for as long as this process lives, and says who it is."""
        self.process = f"{time.time_ns() // 1000}-{os.getpid()}-{secrets.token_hex(4)}"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tasks").mkdir(exist_ok=True)
        processes = self.folder / "processes"
        processes.mkdir(exist_ok=True)
        described = {
            "name": self.name,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_us": int(self.process.partition("-")[0]),
            "payload": self.payload,
            "redactions": self.redaction.paths,
            "retry": {"retry": self.retry, "sync": self.sync},
            "code": self._code,
        }
        path = processes / f"{self.process}.json"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(handle, json.dumps(described).encode())
        hold(handle)
        self._alive = handle

    def _left_behind(self) -> bool:
        """Whether an earlier process ended without closing its recording."""
        return any(not one.closed and not one.alive for one in processes_of(self.folder))

    # --- tasks ---

    def task(self, vertex: str, subtask: int = 0, *, operator: str = "", handed_on: bool = False) -> Task:
        """A task: a partition, a subtask. `operator` is where its function stands, as `jobs.orders:process`.

        `handed_on`: its epochs are executed by one process now and by another then, and are one attempt all the same,
        until one of them fails or is executed once more.
        """
        named = isinstance(vertex, str) and vertex and VERTEX.fullmatch(vertex)
        if not named or type(subtask) is not int or subtask < 0 or not isinstance(operator, str):
            raise WrongUse(
                f"a task can't be called {shown(vertex)}, {shown(subtask)}",
                remedy="Letters, digits, dots, dashes and underscores, a number from 0, and a text as operator",
            )
        whole(subtask, "a task's number")
        with self._lock:
            name = f"{vertex}.{subtask}"
            if name not in self._tasks:
                if why := too_large(subtask):
                    self.at_fault(f"{name} will be in no bundle: {why}")
                self._tasks[name] = Task(self, vertex, subtask, operator, handed_on=handed_on)
            return self._tasks[name]

    def new_log(self, task: str, fixed: Mapping[str, Any], *, handed_on: bool) -> TaskLog:
        """Of a task's next attempt."""
        if self.retry is None:
            return TaskLog(self, task, fixed, handed_on=handed_on)
        others = Others(self.folder / "tasks" / task, self.retention.pinned, self.redaction.digest)
        return RetriedLog(self, task, fixed, others, handed_on=handed_on)

    # --- what logs ask of it ---

    def claim(self, log: SegmentedLog) -> Claim:
        """The next attempt of a task; the folder is made by one process alone, whoever else tries."""
        if self._alive is None and self._open:
            self._announce()
        self._works(log)
        above = self.folder / "tasks" / log.task
        above.mkdir(parents=True, exist_ok=True)
        taken = (int(one) for one in os.listdir(above) if one.isdecimal())
        attempt = max(taken, default=-1) + 1
        if log.handed_on and attempt and (found := _handed_on(log, attempt - 1, above / str(attempt - 1))):
            return found
        while True:
            try:
                (above / str(attempt)).mkdir()
                return Claim(attempt, above / str(attempt))
            except FileExistsError:
                attempt += 1

    def _works(self, log: SegmentedLog) -> None:
        with self._lock:
            self._at_work.add(log)
            if self._resting and self._alive is not None:
                os.ftruncate(self._alive, os.fstat(self._alive).st_size - len(CLOSED))
                self._resting = False

    def rests(self, log: SegmentedLog) -> None:
        """Nothing of a log is missing, whatever becomes of this process."""
        with self._lock:
            self._at_work.discard(log)
            self.rest_until_used()

    def rest_until_used(self) -> None:
        """For a process that may never record anything, and be ended all the same."""
        with self._lock:
            if not self._at_work and not self._resting:
                self._say_closed()

    def _say_closed(self) -> None:
        if self._alive is None:
            return
        try:
            os.pwrite(self._alive, CLOSED, os.fstat(self._alive).st_size)
            self._resting = True
        except OSError as fault:
            self.at_fault(f"{self.folder}: {fault.strerror}")

    def _new_supply(self) -> Supply:
        # What is to be taken again must be there before the job has it: a gap would undo what retries are for.
        return Supply(self.folder, self.segment_bytes, patient=self.retry is not None)

    def segment(self, path: Path, at_least_bytes: int) -> Segment:
        """Room for a log, within the bound."""
        if not self._open and self._closing != threading.get_ident():
            raise OSError("the recording is closed")
        self.retention.make_room(max(at_least_bytes, self.segment_bytes))
        if path.name[:1] != "0":
            self._supply.begin()
        with self.retention.beginning(path):
            made = self._supply.take(path, at_least_bytes)
            self.retention.began(made)
        return made

    def filled(self, log: SegmentedLog, segment: Segment) -> None:
        """A segment is sealed."""
        over = log.handed_on and not log.in_epoch
        self.retention.filled(log.task, segment, None if over else -1 if log.epoch is None else log.epoch)

    def kept(self, value: Any, name: str = VALUE) -> Any:
        """A value as it may leave."""
        return self.redaction.kept(value, name)

    def message(self, text: str) -> Any:
        """What an exception says, as it may leave."""
        return self.redaction.message(text)

    def source(self, site: dict[str, Any]) -> dict[str, Any]:
        """A place in the source, as it may leave."""
        return self.redaction.source(site)

    def at_fault(self, why: str) -> None:
        """Told once to the log of the program; all of them are counted as gaps."""
        why = text(why)
        if why not in self.faults and len(self.faults) < 100:
            self.faults.append(why)
            _log.warning("Recording %s: %s. The job goes on; what is missing is recorded as a gap.", self.name, why)

    # --- ends ---

    def dump(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Writes all that is recorded under this name, by all its processes, as a bundle. Raises `ReplayError`.

        Without `out` it goes to `dumps/` of the recording's folder, under the time.
        """
        from clonoscope.publishing import publish

        for task in list(self._tasks.values()):
            task.log.flush_advance()
        return publish(self.folder, out)

    def close(self) -> None:
        """Ends all attempts, and says that nothing is missing behind them."""
        with self._lock:
            if not self._open:
                return
            self._open, self._closing = False, threading.get_ident()
            if UNRECORDED.elsewhere is self.task(OUTSIDE).log:
                UNRECORDED.elsewhere = None
            for task in self._tasks.values():
                task.end_attempt("closed")
            self._closing = None
            self._supply.close()
            _RECORDINGS.discard(self)
            if not self._resting:
                self._say_closed()
            if self._alive is not None:
                os.close(self._alive)
                self._alive = None

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def crashed(self) -> None:
        """This program ends with an exception, or an earlier one did: a bundle is written, if that can be."""
        try:
            self.dump()
        except (OSError, ReplayError) as fault:
            self.at_fault(str(fault))
        except Exception as fault:  # whatever lies in the folder, it is not at the job's cost
            self.at_fault(f"no bundle could be written: {type(fault).__qualname__}")

    def after_fork(self) -> None:
        """In the child: files and locks are the parent's. What it records are attempts of its own."""
        self._lock = threading.RLock()
        self._supply.forget()
        self._supply = self._new_supply()
        if self._alive is not None:
            os.close(self._alive)
            self._alive = None
        self.retention.after_fork()
        self._at_work, self._resting = set(), False
        for task in self._tasks.values():
            task.log.forget()
        # It says that it lives when it records something: many children never do.
        self.process = ""
        # Its children end without what is registered at the exit.
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.register_after_fork(self, _close_with_multiprocessing)


def _handed_on(log: SegmentedLog, attempt: int, folder: Path) -> Claim | None:
    """The attempt before, if all of its epochs are over and this one comes after them."""
    numbers = [int(one.removesuffix(SUFFIX)) for one in os.listdir(folder) if one.removesuffix(SUFFIX).isdecimal()]
    if not numbers or log.epoch is None:
        return None
    last = max(numbers)
    rest = rest_of(folder / f"{last}{SUFFIX}")
    return None if rest is None or rest.epoch >= log.epoch else Claim(attempt, folder, last + 1, rest.taken)


def _close_with_multiprocessing(recording: Recording) -> None:
    from multiprocessing.util import Finalize

    Finalize(None, recording.close, exitpriority=0)


def hold(handle: int) -> None:
    """Locks a file for as long as this process lives. The lock is the open file's: a child closes its copy."""
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


_RECORDINGS: weakref.WeakSet[Recording] = weakref.WeakSet()
_watched = False


def _watch_crashes() -> None:
    """Once a process; what was there before is called afterwards."""
    global _watched
    if _watched:
        return
    _watched = True
    before = sys.excepthook

    def crashed(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            for recording in list(_RECORDINGS):
                if "crash" in recording.dump_on:
                    recording.crashed()
        before(kind, fault, trace)

    sys.excepthook = crashed


def _close_at_the_end(recording: Recording) -> None:
    reference = weakref.ref(recording)
    atexit.register(_close_at_exit, reference)
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        # Of such a child that was forked, what is registered above never happens.
        from multiprocessing.util import Finalize

        Finalize(None, _close_at_exit, (reference,), exitpriority=0)


def _close_at_exit(reference: weakref.ref[Recording]) -> None:
    recording = reference()
    if recording is not None and recording in _RECORDINGS:
        if "exit" in recording.dump_on:
            recording.crashed()
        recording.close()


def _after_fork() -> None:
    for recording in list(_RECORDINGS):
        recording.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
