"""Bytewax: each worker of a dataflow is a task, with the engine's epochs; its steps, sources and sinks are wrapped.

bytewax.record("orders", flow)
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from clonoscope.adapters.partitions import Identify
from clonoscope.errors import WrongUse
from clonoscope.json_values import json_in, to_json
from clonoscope.recording import Recording, start
from clonoscope.services import current
from clonoscope.shapes import vertex_called
from clonoscope.unrecorded import UNRECORDED

FIRST_EPOCH = 1
_THREAD = "timely:work-"
# Of a source that says no number: so many records of an epoch have numbers of their own.
_OF_EPOCH = 1 << 20
_RECOVERY_OPTIONS = ("-r", "--recovery-directory")


def record(
    recording: Recording | str,
    flow: Any,
    *,
    recovery: str | os.PathLike[str] | None = None,
    operator: str = "",
    outputs: bool = True,
    states: bool = True,
    identify: Identify | None = None,
    **settings: Any,
) -> Any:
    """Makes a dataflow record what goes through it, and gives it back. Call it when all its steps are there.

    `recording` is one that was started, or the name of one, started with the `settings`. `recovery` is the recovery
    store's folder, where the dataflow isn't run by `python -m bytewax.run`, which tells it. `outputs`: whether what
    sinks write is recorded; `states`: whether snapshots are. `identify` gives an output's id. Raises `WrongUse`.
    """
    if not hasattr(flow, "flow_id") or not hasattr(flow, "substeps"):
        raise WrongUse(f"{type(flow).__qualname__} is no dataflow", remedy="Give a bytewax.dataflow.Dataflow")
    from clonoscope.adapters.bytewax_steps import wrap

    made = start(recording, **settings) if isinstance(recording, str) else recording
    wrap(flow, Workers(made, flow.flow_id, recovery or _recovery_told(), operator, outputs, states, identify))
    return flow


def _recovery_told() -> str | None:
    """As `bytewax.run` is told it."""
    for at, argument in enumerate(sys.argv):
        name, _, value = argument.partition("=")
        if name in _RECOVERY_OPTIONS:
            return value or next(iter(sys.argv[at + 1 :]), None)
    return os.environ.get("BYTEWAX_RECOVERY_DIRECTORY")


class Workers:
    """The workers of a dataflow in this process. All are in one epoch: none begins another before all are done."""

    def __init__(
        self,
        recording: Recording,
        flow: str,
        recovery: str | os.PathLike[str] | None,
        operator: str,
        outputs: bool,
        states: bool,
        identify: Identify | None,
    ):
        self.recording, self.flow, self.operator = recording, flow, operator
        self.outputs, self.states, self.identify = outputs, states, identify
        self._lock = threading.Lock()
        self._found: dict[int, Worker] = {}
        self.first_epoch = FIRST_EPOCH if recovery is None else self._resumes_in(Path(recovery))
        self.epoch = self.first_epoch

    def _resumes_in(self, folder: Path) -> int:
        """The epoch that the next execution resumes in: where the slowest worker of the last one was."""
        executions: list[tuple[int, int, int]] = []
        fronts: list[tuple[int, int, int]] = []
        for path in sorted(folder.glob("*.sqlite3")):
            try:
                with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
                    executions += store.execute("SELECT ex_num, worker_count, resume_epoch FROM exs").fetchall()
                    fronts += store.execute("SELECT ex_num, worker_index, worker_frontier FROM fronts").fetchall()
            except sqlite3.Error as fault:
                self.recording.at_fault(f"{path}: {fault}, so epochs may be counted from a wrong number")
        if not executions:
            return FIRST_EPOCH
        last, workers, resumed = max(executions)
        at = {worker: front for execution, worker, front in fronts if execution == last}
        return min((at.get(worker, resumed) for worker in range(workers)), default=resumed)

    def here(self, index: int | None = None) -> Worker:
        """The worker of this thread. `index` is told when a dynamic source or sink is built."""
        thread = threading.get_ident()
        worker = self._found.get(thread)
        if worker is None:
            with self._lock:
                number = _index_of_thread() if index is None else index
                taken = {one.index for one in self._found.values()}
                worker = self._found[thread] = Worker(self, number if number not in taken else max(taken) + 1)
        return worker


class Worker:
    """One worker, which is a thread, and its task."""

    __slots__ = ("_states", "epoch", "index", "log", "task", "workers")

    def __init__(self, workers: Workers, index: int):
        self.workers, self.index = workers, index
        self.task = workers.recording.task(vertex_called(workers.flow), index, operator=workers.operator)
        self.log = self.task.log
        self.epoch = -1
        self._states: dict[str, Any] = {}

    def enter(self) -> None:
        """The epoch that all workers are in."""
        self.end_epoch()
        self.epoch = self.workers.epoch
        self.task.begin_epoch(self.epoch)
        self.log = self.task.log

    def end_epoch(self) -> None:
        """With what was snapshot at its end, if anything was."""
        if self.task.log.in_epoch:
            if self._states:
                self.task.state(self.epoch + 1, self._states)
            self.task.end_epoch()
        self._states = {}

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Within, a source or a sink does what the engine asks of it."""
        if self.epoch != self.workers.epoch:
            self.enter()
        current.set(self.log)
        try:
            yield
        except StopIteration:
            raise
        except BaseException as fault:
            self.fail(fault)
            raise

    def fail(self, fault: BaseException) -> None:
        """The dataflow ends with it."""
        self.task.fail(fault)
        self.log, self.epoch = self.task.log, -1
        current.set(UNRECORDED)

    def over(self) -> None:
        """Nothing more comes of a source, or goes to a sink."""
        current.set(UNRECORDED)

    def snapshot(self, step: str, key: str | None, state: Any) -> None:
        """Of a key, or a partition, at the end of the epoch. A step's keys are not told: theirs stand in a list."""
        if self.workers.states:
            kept = _as_json(state)
            if key is None:
                self._states.setdefault(step, []).append(kept)
            else:
                self._states.setdefault(step, {})[key] = kept

    def wrote(self, step: str, items: Any) -> None:
        """Which records an item is of, the engine does not tell."""
        if not self.workers.outputs:
            return
        identify = self.workers.identify
        if identify is None:
            self.task.outputs([self._record(item) for item in items])
        else:
            for item in items:
                key, _, value = record = self._record(item)
                self.task.output(record, id=self.task.id_by(identify, step, key, value), source=())

    def _record(self, item: Any) -> list[Any]:
        key, value = item if isinstance(item, tuple) and len(item) == 2 else (None, item)
        # What is to be redacted may stand in a text.
        return [key, 0, json_in(value) if self.workers.recording.redaction.active else value]


class Numbering:
    """Where the records of a source's partition stand, so that a record that is read again has its number again.

    What a snapshot of it says is where it stands, if that is a number; else epochs begin at numbers of their own.
    """

    __slots__ = ("epoch", "name", "next")

    def __init__(self, name: str, epoch: int, state: Any):
        self.name, self.epoch = name, epoch
        self.next = self._beginning(state, fresh=state is None)

    def _beginning(self, state: Any, *, fresh: bool = False) -> int:
        if type(state) is int and state >= 0:
            return state
        return 0 if fresh and self.epoch == FIRST_EPOCH else self.epoch * _OF_EPOCH

    def snapshot(self, state: Any) -> None:
        """The end of an epoch."""
        self.epoch += 1
        self.next = self._beginning(state)


def take(worker: Worker, numbering: Numbering, batch: list[Any]) -> None:
    """The records of a batch: of messages that say where they stand in a topic, that; else a number of the source's."""
    message = batch[0]
    if isinstance(getattr(message, "topic", None), str) and type(getattr(message, "offset", None)) is int:
        for message in batch:
            worker.task.take(message.offset, topic=message.topic, partition=message.partition)
    else:
        first, numbering.next = numbering.next, numbering.next + len(batch)
        worker.task.take_range(first, numbering.next, topic=numbering.name)


def _index_of_thread() -> int:
    """As the engine names its threads; the first worker of a process may be its main thread."""
    try:
        name = Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text("utf-8").strip()
    except OSError:
        return 0
    number = name.removeprefix(_THREAD)
    return int(number) if name != number and number.isdecimal() else 0


def _as_json(state: Any) -> Any:
    try:
        return to_json(state)
    except (TypeError, ValueError, RecursionError):
        return {"redacted": f"a {type(state).__qualname__} is not JSON"}
