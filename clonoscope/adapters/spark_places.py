"""Where in Spark something is executed: which query, batch and partition, and by a worker that does what else."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any

from clonoscope.recording import Recording
from clonoscope.tasks import Task

BATCH, QUERY, DESCRIPTION = "streaming.sql.batchId", "sql.streaming.queryId", "spark.job.description"
_NAMED = re.compile(r"\A(?:(?P<name>.+?)\s)?id = \S+\s+runId = (?P<run>\S+)", re.DOTALL)
_ODD = re.compile(r"[^A-Za-z0-9_.]+")


def context_class() -> Any:
    """Spark's own, which knows the task that a worker executes."""
    global _context_class
    if _context_class is None:
        from pyspark.taskcontext import TaskContext

        _context_class = TaskContext
    return _context_class


_context_class: Any = None


@dataclass(frozen=True, slots=True)
class Place:
    """A partition of a batch of a query. `run` is new whenever the query is started."""

    query: str
    name: str
    run: str
    batch: int
    partition: int
    how: str = ""

    @property
    def because(self) -> str:
        """Said where the batch was executed before."""
        return f"Spark executed batch {self.batch} again: run {self.run[:8]} of the query{self.how}"


def place_of_task(context: Any) -> Place | None:
    """In a worker; None where it executes no batch of a stream."""
    if context is None or context.getLocalProperty(BATCH) is None:
        return None
    how = f", stage {context.stageId()}, attempt {context.attemptNumber()} of its task"
    return _place(context.getLocalProperty, int(context.getLocalProperty(BATCH)), context.partitionId(), how)


def place_of_driver(frame: Any, batch: int) -> Place | None:
    """In the driver, which executes all of a batch at once."""
    context = getattr(frame.sparkSession, "sparkContext", None)
    return None if context is None else _place(context.getLocalProperty, batch, 0, "")


def _place(of: Callable[[str], str | None], batch: int, partition: int, how: str) -> Place:
    named = _NAMED.match((of(DESCRIPTION) or "").replace("<br/>", "\n"))
    name, run = (named["name"] or "", named["run"]) if named else ("", "")
    return Place(of(QUERY) or "", name, run, batch, partition, how)


def task_of(recording: Recording, place: Place, function: Any, vertex: str = "") -> Task:
    """The task of this function and partition."""
    owner = function if hasattr(function, "__qualname__") else type(function)
    name = f"{_label(recording.folder, place)}-{_odd(vertex or owner.__name__)}"
    operator = f"{_module(owner)}:{owner.__qualname__}"
    return recording.task(name[:100], place.partition, operator=operator, handed_on=True)


def _module(owner: Any) -> str:
    """By which it could be imported: a script's own functions are called `__main__`, and carry its file."""
    of_methods = (getattr(one, "__code__", None) for one in vars(owner).values()) if isinstance(owner, type) else ()
    code = getattr(owner, "__code__", None) or next((one for one in of_methods if one is not None), None)
    return Path(code.co_filename).stem if owner.__module__ == "__main__" and code else str(owner.__module__)


def _odd(text: str) -> str:
    return _ODD.sub("_", text).strip("_.") or "function"


_labels: dict[tuple[Path, str], str] = {}


def _label(folder: Path, place: Place) -> str:
    """The query's name, if no other query of this recording has had it: with another checkpoint, batches count anew."""
    known = _labels.get((folder, place.query))
    if known is None:
        known = _labels[folder, place.query] = _claimed(folder / "queries", place)
    return known


def _claimed(queries: Path, place: Place) -> str:
    wanted, more = _odd(place.name or place.query[:8])[:40], 1
    try:
        queries.mkdir(parents=True, exist_ok=True)
        while True:
            label = wanted if more == 1 else f"{wanted}.{more}"
            if _is_ours(queries / label, place.query):
                return label
            more += 1
    except OSError:
        return f"{wanted}.{place.query[:8]}"


def _is_ours(path: Path, query: str) -> bool:
    """Whoever comes first has it. A file is whole when it has its name."""
    if not path.exists():
        made = path.with_name(f".{os.getpid()}-{get_ident()}")
        made.write_text(query)
        try:
            os.link(made, path)
        except FileExistsError:
            pass  # another process was first
        finally:
            made.unlink()
    return path.read_text() == query


def is_alone(caller: FrameType | None) -> bool:
    """Whether Spark's worker calls but this one function for each row. Of a worker that is made otherwise than those
    that are known, and of several functions in one, it isn't said."""
    frames: list[FrameType] = []
    while caller is not None and len(frames) < _MOST_FRAMES:
        frames.append(caller)
        caller = caller.f_back
    names = [(str(one.f_globals.get("__name__")), one.f_code.co_name) for one in frames]
    for known, has_one in _WORKERS:
        if tuple(names[: len(known)]) == known:
            return has_one(frames[len(known) - 1])
    return False


_WORKER, _UTIL = "pyspark.worker", "pyspark.util"
_MOST_FRAMES = 4
# Who calls a function in PySpark 4, innermost first, and whether its loop over rows, or over functions, has but one:
# columns of Arrow, by a Python that has a frame for a comprehension or has none, and rows that are pickled.
_BY_COLUMNS = ((_WORKER, "_evaluate_batch_udf"), (_UTIL, "wrapper"), (_WORKER, "func"))
_BY_ROWS = ((_UTIL, "wrapper"), (_WORKER, "<lambda>"), (_WORKER, "<genexpr>"))
_WORKERS: tuple[tuple[tuple[tuple[str, str], ...], Callable[[FrameType], bool]], ...] = (
    (((_WORKER, "<listcomp>"), *_BY_COLUMNS), lambda frame: len(frame.f_locals.get("udf_infos", ())) == 1),
    (_BY_COLUMNS, lambda frame: len(frame.f_locals.get("udf_infos", ())) == 1),
    (_BY_ROWS, lambda frame: frame.f_code.co_freevars == ("arg_offsets", "f")),
)
