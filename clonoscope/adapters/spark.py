"""Records what PySpark executes: functions in Python workers, `foreachBatch` and stateful processors.

`recorded = recorder("orders")` in the driver, then `recorded(function)` in place of each function. Epochs are batches,
tasks are partitions. Workers find their way into the same folder by the settings that travel with the function.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from clonoscope import identity
from clonoscope.adapters import spark_places as places
from clonoscope.adapters import spark_work as work
from clonoscope.adapters.spark_border import CALLS, tell_how
from clonoscope.adapters.spark_values import observe_actions, plain
from clonoscope.arguments import Payload, Retry, check_arguments, redaction_for
from clonoscope.errors import WrongUse
from clonoscope.interception import intercept as record_what_is_asked
from clonoscope.recording import Recording, stand_ins, start
from clonoscope.services import current, epoch_hooks
from clonoscope.unrecorded import UNRECORDED
from clonoscope.words import ADVANCE_MOST, H_PROGRESS

T = TypeVar("T")
_log = logging.getLogger("clonoscope")
_NOT_ASKED = object()
get_current = current.get


def recorder(
    name: str,
    *,
    dir: str | os.PathLike[str] = "clonoscope-recordings",  # noqa: A002 - as in start
    keep: int | None = None,
    max_mb: float = 256,
    payload: Payload = "ref",
    redact: Sequence[str] = (),
    allow: Sequence[str] | None = None,
    key: bytes | str | os.PathLike[str] | None = None,
    retry: Retry | None = None,
    sync: bool = False,
    intercept: bool | Sequence[str] = False,
    hashes: bool = True,
    results: bool | None = None,
) -> Recorder:
    """What functions are recorded with; arguments as of `clonoscope.start`. Nothing is written before one is called.

    `key`: of a file its name travels to the workers, which read it where they are; bytes travel themselves.

    `intercept`: whether what code asks that doesn't know of Clonoscope is recorded too, or of which packages.
    `hashes`: whether the records of a batch are hashed, so that it can be told whether they were the same.
    `results`: whether what functions give is hashed, so that a replay can be told to be the same; with payload `full`
    it is, unless something is redacted.
    """
    only = (
        (intercept,) if isinstance(intercept, str) else intercept if isinstance(intercept, bool) else tuple(intercept)
    )
    check_arguments(name, dir, keep, max_mb, payload, retry, sync=sync)
    folder = os.path.abspath(dir)
    redaction = redaction_for(redact, allow, payload, key, retry)
    if results and redaction.active:
        raise WrongUse(
            "results can't be held against each other where values are redacted", remedy="Leave out results, or that"
        )
    return Recorder(
        Settings(
            name,
            folder,
            keep,
            max_mb,
            payload,
            tuple(redact),
            None if allow is None else tuple(allow),
            key if key is None or isinstance(key, bytes) else os.path.abspath(key),
            retry,
            sync,
            only,
            hashes,
            payload == "full" and not redaction.active if results is None else results,
            _code(),
        )
    )


@functools.cache
def _code() -> dict[str, Any]:
    return identity.code_here()


@dataclass(frozen=True)
class Settings:
    """Travels to the workers with each function."""

    name: str
    dir: str
    keep: int | None = None
    max_mb: float = 256
    payload: Payload = "ref"
    redact: tuple[str, ...] = ()
    allow: tuple[str, ...] | None = None
    # Whoever prints these settings must not print the key.
    key: bytes | str | None = field(default=None, repr=False)
    retry: Retry | None = None
    sync: bool = False
    intercept: bool | tuple[str, ...] = False
    hashes: bool = True
    results: bool = False
    code: Mapping[str, Any] | None = field(default=None, compare=False)

    def recording(self) -> Recording:
        """This process' own; a worker that was forked goes on with what was there when it was forked."""
        made = _recordings.get(self)
        if made is None:
            # What no task asks is nobody's here: workers come and go.
            elsewhere = UNRECORDED.elsewhere
            made = _recordings[self] = start(
                self.name,
                dir=self.dir,
                keep=self.keep,
                max_mb=self.max_mb,
                payload=self.payload,
                redact=self.redact,
                allow=self.allow,
                key=self.key,
                retry=self.retry,
                sync=self.sync,
                dump_on=(),
                code=self.code,
            )
            UNRECORDED.elsewhere = elsewhere
            # Where several recorders meet in a worker, one takes over what all of them are asked.
            if self.intercept and not epoch_hooks:
                record_what_is_asked(*(() if isinstance(self.intercept, bool) else self.intercept))
            made.rest_until_used()
        return made


_recordings: dict[Settings, Recording] = {}


class Recorder:
    """Made by `recorder`. Called with a function, a stateful processor or a writer of `foreach`, gives it recorded."""

    def __init__(self, settings: Settings):
        self.settings = settings

    def __call__(self, what: Any, *, vertex: str = "") -> Any:
        """`vertex` is what its tasks are called, where the function's name is not what is meant."""
        return recorded(self.settings, what, vertex)

    def outputs(self, rows: Iterable[T], *, key: str = "", id: str = "") -> Iterator[T]:  # noqa: A002 - as in output
        """Gives what leaves for a sink, one by one; each is recorded when the next is asked for: the sink has it then.

        `key` and `id` name columns: what the record is about, and what its sink knows it by, where it is idempotent.
        """
        taking = work.taking_here()
        for row in rows:
            yield row
            value = plain(row)
            column = value.get if isinstance(value, dict) else {}.get
            if stand_ins:
                # Who asks for the next row has given this one.
                given = stand_ins[-1](self.settings.name).task(self.settings.name).given
                given([column(key), 0, value], str(column(id)) if id else None, sys._getframe(1))
            elif taking is not None:
                taking.given += 1
                lineage = taking.lineage_of(row)
                taking.task.output([column(key), 0, value], id=str(column(id)) if id else None, **lineage)


def recorded(settings: Settings, what: Any, vertex: str = "") -> Any:
    """A function or an object that PySpark calls, recorded."""
    if isinstance(what, RecordedFunction | RecordedProcessor | RecordedWriter):
        return what
    if hasattr(what, "handleInputRows"):
        return RecordedProcessor(settings, what, vertex)
    if hasattr(what, "process") and not callable(what):
        return RecordedWriter(settings, what, vertex)
    return RecordedFunction(settings, what, vertex)


class _Recorded:
    """What is pickled is what it was made of; what it is at work on belongs to the process."""

    def __init__(self, settings: Settings, what: Any, vertex: str):
        self._settings, self._what, self._vertex = settings, what, vertex
        self._context: Any = _NOT_ASKED
        self._work: work.Work | None = None
        self._contexts: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._settings, self._what, self._vertex)

    def __clonoscope_replay__(self, task: Any) -> Any:
        """For a replay where the code is."""
        from clonoscope.adapters.spark_on_site import adapted

        return adapted(self._what, task)

    def _at_work(self) -> work.Work | None:
        """On this Spark task; None where there is no batch of a stream."""
        if self._contexts is None:
            self._contexts = places.context_class()
        context = self._contexts._taskContext
        if context is not self._context:
            self._context = context
            place = places.place_of_task(context)
            self._work = None if place is None else self._begun(place)
        return self._work

    def _begun(self, place: places.Place) -> work.Work | None:
        try:
            recording = self._settings.recording()
            made = self._settings
            return work.begin(recording, place, self._what, self._vertex, hashes=made.hashes, results=made.results)
        except Exception as fault:  # the job goes on without being recorded
            _log.warning("%s is not recorded: %s: %s", self._what, type(fault).__qualname__, fault)
            return None


class RecordedFunction(_Recorded):
    """Stands for a function; looks like it to those who look at its signature."""

    def __init__(self, settings: Settings, what: Callable[..., Any], vertex: str = ""):
        super().__init__(settings, what, vertex)
        # Whose rows are taken in a hurry, while it is this thread's.
        self._log: Any = None
        self._looked_up: work.Work | None = None
        self._alone = False
        functools.update_wrapper(self, what)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._what)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """In a worker for a row, a batch or a group of rows; in the driver for a batch of the stream."""
        log = self._log
        if get_current() is not log or keywords:
            return self._called(arguments, keywords)
        # A row of which nothing is kept but that it was taken, of a function that has the Spark task to itself: what
        # `TaskLog.take` does is written out, as each call on the way of a row costs the job a hundredth of what it may.
        adv = log.adv
        if adv == ADVANCE_MOST:
            log.take(log.input, log.next_offset)
        else:
            log.next_offset = until = log.next_offset + 1
            log.adv = adv + 1
            try:
                log.view[H_PROGRESS] = until - log.lead
            except IndexError:
                log.no_room()
        try:
            return self._what(*arguments)
        except BaseException as fault:
            if self._work is not None:
                self._work.fail(fault)
            raise

    def _called(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        at_work = self._at_work()
        if at_work is not None:
            if not at_work.row_by_row or keywords:
                return at_work.call(self._what, arguments, keywords)
            found = at_work.row(self._what, arguments)
            if at_work.may_stay and not self._settings.intercept and self._is_alone(at_work, sys._getframe(2)):
                self._log = at_work.stays(self._hurries_no_more)
            return found
        if self._context is None and len(arguments) == 2 and hasattr(arguments[0], "sparkSession"):
            return self._batch(*arguments)
        return self._what(*arguments, **keywords)

    def _hurries_no_more(self) -> None:
        self._log = None

    def _is_alone(self, at_work: work.Work, caller: FrameType | None) -> bool:
        """Whether Spark's worker executes nothing else between two rows that might ask anything; looked up once."""
        if self._looked_up is not at_work:
            self._looked_up, self._alone = at_work, places.is_alone(caller)
        return self._alone

    def _batch(self, frame: Any, batch: int) -> Any:
        place = places.place_of_driver(frame, batch)
        if place is None:
            return self._what(frame, batch)
        task = places.task_of(self._settings.recording(), place, self._what, self._vertex)
        border = work.border_of(task, results=self._settings.results)
        taking = work.Taking(task, place, hashes=self._settings.hashes, border=border)
        with task.epoch(place.batch, because=place.because), work.executes(taking):
            if border is None:
                tell_how(task, CALLS, whole=False, results=False)
            else:
                border.call("foreachBatch", (frame, batch), {}, takes=False)
            observe_actions(frame, taking)
            return self._what(frame, batch)


class RecordedProcessor(_Recorded):
    """Stands for a stateful processor; what it does with its state is its own."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._what, name)

    def init(self, handle: Any) -> Any:
        """It asks for its states."""
        at_work = self._at_work()
        return self._what.init(handle) if at_work is None else self._handled("init", handle, takes=False)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        """Rows of a key."""
        return self._handled("handleInputRows", key, rows, timerValues)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> Any:
        """The first state of a key: none of the records that are taken."""
        return self._handled("handleInitialState", key, initialState, timerValues, takes=False)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        """A timer of a key."""
        return self._handled("handleExpiredTimer", key, timerValues, expiredTimerInfo, takes=False)

    def _handled(self, name: str, *arguments: Any, takes: bool = True) -> Any:
        at_work, method = self._at_work(), getattr(self._what, name)
        return method(*arguments) if at_work is None else at_work.call(method, arguments, {}, takes=takes, method=name)


class RecordedWriter(_Recorded):
    """Stands for a writer of `foreach`: what it was given, it gave to its sink, unless it says what else."""

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """As the writer's own."""
        if not hasattr(self._what, "open"):
            return True
        at_work, method = self._at_work(), self._what.open
        return (
            bool(method(partition_id, epoch_id)) if at_work is None else at_work.opened(method, partition_id, epoch_id)
        )

    def process(self, row: Any) -> None:
        """A row."""
        at_work = self._at_work()
        if at_work is None:
            self._what.process(row)
        else:
            at_work.written(self._what.process, row)

    def close(self, error: Exception | None) -> None:
        """As the writer's own."""
        if not hasattr(self._what, "close"):
            return
        at_work = self._at_work()
        if at_work is None:
            self._what.close(error)
        else:
            at_work.closed(self._what.close, error)
