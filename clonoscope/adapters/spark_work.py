"""A function at work on a task of Spark, and the epoch of the task that it is recorded as: what it takes and gives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from threading import get_ident
from typing import Any

from clonoscope.adapters import spark_values as values
from clonoscope.adapters.spark_border import CALLS, ROWS, WRITER, Border, tell_how, watched
from clonoscope.adapters.spark_places import Place, context_class, task_of
from clonoscope.errors import message_of
from clonoscope.recording import Recording
from clonoscope.redaction import said
from clonoscope.services import current
from clonoscope.task_log import TaskLog
from clonoscope.tasks import Task

_executing: ContextVar[Taking | None] = ContextVar("clonoscope.spark.executing", default=None)


@contextmanager
def executes(taking: Taking) -> Iterator[None]:
    """Within, this is at work in the driver."""
    token = _executing.set(taking)
    try:
        yield
    finally:
        _executing.reset(token)


def taking_here() -> Taking | None:
    """The task that is at work here, and what it takes."""
    log = current.get()
    return next((one.taking for one in _at_work if one.task.log is log), _executing.get())


class Taking:
    """Counts what a task takes, from 0 in each batch: Spark does not tell where a row comes from."""

    def __init__(self, task: Task, place: Place, *, hashes: bool, border: Border | None = None):
        self.task, self._topic, self._partition = task, task.vertex.rpartition("-")[0], place.partition
        self._border = border
        self._hashes = hashes and task.recording.payload != "none"
        self._whole = task.recording.payload == "full"
        self.next = 0
        # Whether nothing is kept of a row but that it was taken.
        self.only_counts = not self._hashes and not self._whole and task.recording.retry is None
        # How many outputs the function said that it gave, and whether it is given rows one by one.
        self.given, self.one_by_one = 0, False
        # Rows that the driver's function holds, to the record that each is. They are kept, so that ids stay theirs.
        self._records: dict[int, tuple[int, Any]] = {}

    def record_of(self, row: Any) -> int | None:
        """Which of the task's records this very row is."""
        found = self._records.get(id(row))
        return None if found is None else found[0]

    def lineage_of(self, row: Any) -> dict[str, Any]:
        """What `output` is told of it: the record that it is, or the one that the function is at work on; else none."""
        record = self.record_of(row)
        return {"of": record} if record is not None else {} if self.one_by_one else {"source": []}

    def row(self, found: Any) -> None:
        """One row, or what a function was given of it."""
        offset, self.next = self.next, self.next + 1
        record = [None, 0, values.plain(found)] if self._whole else None
        data = values.row_bytes(found) if self._hashes else None
        self.task.take(offset, topic=self._topic, partition=self._partition, record=record, data=data)

    def rows(self, found: Sequence[Any]) -> None:
        """One by one."""
        for one in found:
            self._records[id(one)] = self.task.records_taken, one
            self.row(one)

    def asked(self, action: str, arguments: tuple[Any, ...], keywords: dict[str, Any], found: Any) -> None:
        """The driver's function has collected something of its batch."""
        border = self._border
        if border is not None:
            answer = border.answer if action in ("count", "isEmpty") else border.collected
            border.asked(f"DataFrame.{action}", arguments, keywords, lambda: answer(found))

    def asks_each(self, found: Iterable[Any]) -> Iterator[Any]:
        """The driver's function looks at its batch row by row."""
        border = self._border
        if border is not None:
            border.asked("DataFrame.toLocalIterator", (), {}, lambda: {"iterator": True})
        for row in found:
            self.row(row)
            if border is not None:
                border.pulled(None, row)
            yield row
        if border is not None:
            border.pulled_all(None)

    def columns(self, found: Sequence[Any]) -> None:
        """A batch, as one or more arguments."""
        first, count = self.next, values.columnar_rows(found[0])
        self.next = first + count
        sha256, records = "", None
        if self._hashes:
            digest = hashlib.sha256()
            for one in found:
                for part in values.columnar_bytes(one):
                    digest.update(part)
            sha256 = digest.hexdigest()
        if self._whole:
            of_each = [values.columnar_records(one) for one in found]
            records = [[None, 0, one] for one in (of_each[0] if len(of_each) == 1 else values.all_of(of_each))]
        self.task.take_range(
            first, self.next, topic=self._topic, partition=self._partition, sha256=sha256, records=records or ()
        )


def border_of(task: Task, *, results: bool) -> Border | None:
    """Where it is told what passes to a function and back; None where nobody wants that."""
    return Border(task, whole=task.recording.payload == "full") if results else None


class Work:
    """A function at work on a Spark task."""

    def __init__(self, task: Task, place: Place, *, hashes: bool, results: bool = False):
        self.task = task
        self.over = False
        # From the first call on, where that was for a row.
        self.row_by_row = False
        self.border = border_of(task, results=results)
        self._is_told_of = results
        # Whether a writer has rows that it may keep until it is closed.
        self._keeps = False
        self.taking = Taking(task, place, hashes=hashes)
        self._thread = get_ident()
        # Whether rows are counted by the log alone, as nothing else is kept of them; what undoes that it stays where
        # it is asked, and who is told.
        self.only_counts = False
        self._log = task.log
        self._staying: Token[Any] | None = None
        self._stays_no_more: Callable[[], None] | None = None
        self._has_threads = False
        task.begin_epoch(place.batch, because=place.because)

    def call(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        *,
        takes: bool = True,
        method: str = "",
    ) -> Any:
        """Calls it, as this task's; `takes`: what it is given are records. `method` is its name, of a processor's."""
        self._take_stock()
        given = [*arguments, *keywords.values()]
        is_row = takes and not any(values.is_columnar(one) or values.is_iterator(one) for one in given)
        if is_row and not keywords:
            self.row_by_row = self.taking.one_by_one = True
            self._tell_how(ROWS)
            return self.row(function, arguments)
        if get_ident() != self._thread:
            self._tell_of_threads()
        calling = object()
        self._tell_how(CALLS)
        if self.border is not None:
            self.border.call(method, arguments, keywords, takes=takes, row=is_row)
        if is_row:
            self._take(self.taking.row, given[0] if len(given) == 1 else tuple(given))
        elif takes:
            for columns in values.sides_of([one for one in given if values.is_columnar(one)]):
                self._take(self.taking.columns, columns)
        arguments = tuple(self._argument(one, calling) for one in arguments)
        found = self._step(
            function, *arguments, **{name: self._argument(one, calling) for name, one in keywords.items()}
        )
        if values.is_iterator(found):
            return self._driven(found, calling)
        if self.border is not None:
            self.border.returned(found, calling)
        return found

    def _tell_how(self, form: str) -> None:
        """Where nothing else is told of the function's calls."""
        if not self._is_told_of:
            self._is_told_of = True
            tell_how(self.task, form, whole=False, results=False)

    def row(self, function: Callable[..., Any], arguments: tuple[Any, ...], form: str = ROWS) -> Any:
        """As `call`, of a function that is called for each row."""
        if get_ident() != self._thread:
            self._tell_of_threads()
        if self.only_counts:
            log = self._log
            log.take(log.input, log.next_offset)
        else:
            log = self._takes_row(arguments[0] if len(arguments) == 1 else arguments, form)
        token = current.set(log)
        try:
            found = function(*arguments)
        except BaseException as fault:
            self.fail(fault)
            raise
        finally:
            current.reset(token)
        if self.border is not None:
            # Nobody looks at what a writer returns.
            self.border.gave(None if form == WRITER else found)
        return found

    def _takes_row(self, row: Any, form: str) -> TaskLog:
        self._take(self.taking.row, row)
        if self.border is not None:
            self.border.row(row, form)
        elif self.taking.only_counts and not self.over:
            self._log, self.only_counts = self.task.log, True
        return self.task.log

    @property
    def may_stay(self) -> bool:
        """Whether rows come from one thread, and are only counted."""
        return self.only_counts and not self._has_threads

    def stays(self, no_more: Callable[[], None]) -> TaskLog:
        """What is asked in this thread is this task's from here on, until something else than a row comes."""
        if self._staying is None:
            self._staying = current.set(self._log)
        self._stays_no_more = no_more
        return self._log

    def _take_stock(self) -> None:
        """Of what the log counted alone."""
        if self._stays_no_more is not None:
            self._stays_no_more()
        if self._staying is not None:
            with suppress(ValueError):  # another thread's, which does it at the end
                current.reset(self._staying)
                self._staying = None
        if self.only_counts:
            self.only_counts, self.taking.next = False, self._log.next_offset

    # --- writers of `foreach` ---

    def opened(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """A writer is opened; whether it wants rows."""
        self._tell_how(WRITER)
        if self.border is not None:
            self.border.begins_writing()
        found = bool(self._step(function, *arguments))
        if self.border is not None:
            self.border.opened(found)
        return found

    def written(self, function: Callable[..., Any], row: Any) -> None:
        """A writer is given a row, which leaves if it gives nothing else for it."""
        self._tell_how(WRITER)
        self.taking.one_by_one = True
        given = self.taking.given
        self.row(function, (row,), WRITER)
        if self.taking.given == given:
            writer = getattr(function, "__self__", None)
            self._keeps = hasattr(writer, "close")
            self.task.output([None, 0, values.plain(row)], topic=type(writer).__qualname__ if self._keeps else "")

    def closed(self, function: Callable[..., Any], fault: Exception | None) -> None:
        """A writer is closed. What it does because of a fault is none of the attempt's, which is over by then."""
        if fault is not None and not self.over:
            if self.border is not None:
                self.border.pull_failed(None, fault)
            self.fail(fault)
        if self.over:
            function(fault)
        else:
            self._step(function, fault)
            if self._keeps:
                self.task.sent()

    def _tell_of_threads(self) -> None:
        self._thread, self._has_threads = get_ident(), True
        self._take_stock()
        self.task.log.gap("rows of this partition are processed by several threads, in an order nobody records")

    def _argument(self, one: Any, calling: object) -> Any:
        return self._each_taken(one, calling) if values.is_iterator(one) else watched(one, lambda: self.border)

    def _each_taken(self, found: Iterator[Any], calling: object) -> Iterator[Any]:
        border = self.border
        while True:
            try:
                one = next(found)
            except StopIteration:
                break
            except Exception as fault:
                if border is not None:
                    border.pull_failed(calling, fault)
                raise
            parts = one if type(one) is tuple else (one,)
            columns = [part for part in parts if values.is_columnar(part)]
            self._take(self.taking.columns, columns) if columns else self._take(self.taking.row, one)
            if border is not None:
                border.pulled(calling, one)
            yield one
        if border is not None:
            border.pulled_all(calling)

    def _take(self, take: Callable[[Any], None], found: Any) -> None:
        try:
            take(found)
        except Exception as fault:  # whatever a value is, the job goes on
            why = said(self.task.recording.message(message_of(fault)))
            self.task.log.gap(f"what was taken here can't be recorded: {type(fault).__qualname__}: {why}"[:200])

    def _step(self, step: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        token = current.set(self.task.log)
        try:
            return step(*arguments, **keywords)
        except StopIteration:
            raise
        except BaseException as fault:
            self.fail(fault)
            raise
        finally:
            current.reset(token)

    def _driven(self, found: Iterator[Any], calling: object) -> Iterator[Any]:
        """A generator does its work when it is asked for what comes next."""
        border = self.border
        while True:
            try:
                one = self._step(found.__next__)
            except StopIteration:
                if border is not None:
                    border.over(calling)
                return
            if border is not None:
                border.gave(one, calling)
            try:
                yield one
            except GeneratorExit:
                if border is not None and not self.over:
                    border.left(calling)
                raise

    def fail(self, fault: BaseException) -> None:
        """The Spark task fails with it."""
        if not self.over:
            self.over = True
            self._take_stock()
            self.task.fail(fault)

    def finish(self) -> None:
        """The Spark task has given all that it gives."""
        if not self.over:
            self.over = True
            self._take_stock()
            self.task.end_epoch()


_at_work: list[Work] = []
_watched: set[Any] = set()


def begin(
    recording: Recording, place: Place, function: Any, vertex: str, *, hashes: bool = True, results: bool = False
) -> Work:
    """A function comes to a Spark task; it is over when Spark's worker says so."""
    _watch_ends()
    task = task_of(recording, place, function, vertex)
    for one in _at_work:
        if one.task is task and not one.over:
            return one  # a function that stands in several columns
    made = Work(task, place, hashes=hashes, results=results)
    _at_work.append(made)
    return made


def _watch_ends() -> None:
    """A worker forgets its task when all of it was given; where it fails, its process ends."""
    kind = context_class()
    if kind in _watched:
        return
    _watched.add(kind)
    real = kind._setTaskContext

    def set_task_context(cls: Any, context: Any) -> None:
        if context is None:
            while _at_work:
                _at_work.pop().finish()
        real(context)

    kind._setTaskContext = classmethod(set_task_context)
