"""Calls a job's function as Spark did, along what was recorded of it: where the code is, and without Spark's JVM."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from clonoscope import services
from clonoscope.adapters import spark_values as values
from clonoscope.adapters.spark_border import ROWS
from clonoscope.adapters.spark_containers import contained
from clonoscope.adapters.spark_shapes import NotMade, known_by, made
from clonoscope.calls import fault_of
from clonoscope.json_values import from_json
from clonoscope.onsite.border import Border
from clonoscope.onsite.outputs import line_of
from clonoscope.onsite.returning import Returned
from clonoscope.onsite.stopping import unseen

_NOT_TOLD = (
    'how the function was called, and what it gave, is not recorded: record with results=True, and payload="full" for '
    "what it was given"
)
# What tells a state or a timer something; all else that is asked is no effect.
_CHANGES = ("update", "append", "put", "remove", "clear", "set", "register", "delete")
# What Spark calls of a processor, and nothing else that a bundle may say.
_METHODS = ("init", "handleInputRows", "handleInitialState", "handleExpiredTimer")
_AS_IT_IS = ("persist", "cache", "unpersist")
_COLLECTS = ("collect", "take", "tail", "head", "first", "toPandas", "toArrow", "toLocalIterator", "count", "isEmpty")


def adapted(what: Any, task: Any) -> Callable[..., Any]:
    """What a replay calls in place of a function, a processor or its class."""
    border: Border = task.border
    began = border.began
    if began is None or not began.get("results"):
        task.doubt("the recording does not say of which types the function's arguments were")
    if hasattr(what, "process") and not _is_processor(what) and (inspect.isclass(what) or not callable(what)):
        return _for_writer(what() if inspect.isclass(what) else what, task)
    if hasattr(what, "evalType") and hasattr(what, "func"):
        what = what.func  # what `udf` made of it
    if began is None or began.get("form") == ROWS:
        return _for_each_row(what, border)

    def process(records: Iterator[Any]) -> None:
        if not began.get("results"):
            raise border.lacks(_NOT_TOLD)
        _Calls(what, border, records).run()

    return process


def _for_writer(writer: Any, task: Any) -> Callable[[Any, int], None]:
    """What it was given, it gave to its sink."""
    each = _for_each_row(writer.process, task.border)
    task.border.untold = "what a writer does with a row is not recorded, but for what it asks"
    opened: set[int] = set()

    def process(record: Any, epoch: int) -> None:
        if epoch not in opened and hasattr(writer, "open"):
            writer.open(task.subtask, epoch)
        opened.add(epoch)
        each(record)
        task.output([None, 0, record[2]])

    return process


def _for_each_row(what: Any, border: Border) -> Callable[[Any], None]:
    several = len(inspect.signature(what).parameters) != 1
    returned = Returned(what)
    compared = (border.began or {}).get("results")

    def process(record: Any) -> None:
        arguments = record[2]
        if border.shape is not None:
            arguments = _made(border, arguments, border.shape)
            at_once = isinstance(border.shape, dict) and "tuple" in border.shape
        else:
            at_once = several
        found = returned.calling(what, *arguments) if at_once else returned.calling(what, arguments)
        if compared:
            _gave(border, found, returned.line)

    return process


def _made(border: Border, value: Any, shape: Any) -> Any:
    try:
        with unseen():
            return made(value, shape)
    except NotMade as fault:
        raise border.lacks(f"what the function was given can't be made again of the recording: {fault}") from fault


def _gave(border: Border, found: Any, line: dict[str, Any] | None, frame: FrameType | None = None) -> None:
    known = _known(found)

    def shown() -> Any:
        return values.columnar_records(found) if values.is_columnar(found) else values.plain(found)

    border.given(known, shown, line, frame, counts=found is not None)


def _known(found: Any) -> str | None:
    try:
        with unseen():
            return known_by(found)
    except NotMade:
        return None


class _Calls:
    """Of one epoch. Rows come from the replay, as they are asked for."""

    def __init__(self, what: Any, border: Border, records: Iterator[Any]):
        self._border, self._records = border, records
        self._what = what() if inspect.isclass(what) else copy.deepcopy(what) if _is_processor(what) else what
        # Of the call, or the batch, in hand: its rows are spread over several arguments.
        self._rows: list[Any] | None = None

    def run(self) -> None:
        """Call by call."""
        border = self._border
        while border.ahead is not None and not border.has_parted:
            self._call(border.next("call", "is done", None))

    def _call(self, line: dict[str, Any]) -> None:
        method = line.get("method")
        is_batch = method == "foreachBatch"
        if method and not is_batch and method not in _METHODS:
            raise self._border.lacks(f"Spark calls no method {str(method)[:100]!r}, and a bundle may not name others")
        function = getattr(self._what, method) if method and not is_batch else self._what
        if line.get("row"):
            next(self._records)
        self._rows = None
        arguments = [self._given(one) for one in line.get("arguments", ())]
        keywords = {name: self._given(one) for name, one in line.get("keywords", {}).items()}
        returned = Returned(function)
        found = returned.calling(function, *arguments, **keywords)
        if values.is_iterator(found):
            self._drain(found)
        elif not is_batch:
            _gave(self._border, found, returned.line)

    def _drain(self, found: Any) -> None:
        """As far as Spark asked for more."""
        border = self._border
        while not border.has_parted:
            ahead = border.ahead
            if ahead is None and border.is_over:
                return
            if ahead is not None and ahead.get("is") == "left":
                border.next("left", "", None)
                found.close()
                return
            frame = getattr(found, "gi_frame", None)
            try:
                one = next(found)
            except StopIteration:
                if border.ahead is not None or border.is_over:
                    border.next("over", "has nothing more", None)
                return
            _gave(border, one, line_of(frame), frame)

    # --- what it is given ---

    def _given(self, told: dict[str, Any]) -> Any:
        if told.get("iterator"):
            return self._pulled()
        if "stands" in told:
            return self._standing(str(told["stands"]))
        if "rows" in told:
            if self._rows is None:
                self._rows = [next(self._records)[2] for _ in range(told["rows"])]
            column = told.get("column")
            rows = self._rows if column is None else [row[column] for row in self._rows]
            return self._contained(rows, told)
        if "value" in told:
            value = from_json(told["value"])
            return self._contained(value, told) if "known" in told else _made(self._border, value, told.get("shape"))
        raise self._border.lacks(f"what the function was given is not recorded: {told.get('lacking', told)}")

    def _contained(self, rows: list[Any], told: dict[str, Any]) -> Any:
        try:
            with unseen():
                return contained(rows, told)
        except NotMade as fault:
            raise self._border.lacks(
                f"what the function was given can't be made again of the recording: {fault}"
            ) from fault

    def _pulled(self) -> Iterator[Any]:
        while True:
            line = self._border.next("pull", "asks for more rows", sys._getframe(1))
            if line.get("end"):
                return
            self._rows = None
            if "record" in line:
                yield _made(self._border, next(self._records)[2], line["record"])
            elif "parts" in line:
                yield tuple(self._given(one) for one in line["parts"])
            else:
                yield self._given(line["argument"])

    def _standing(self, name: str) -> Any:
        return StandInFrame(self) if name == "DataFrame" else StandIn(name, self)

    def collected(self, told: dict[str, Any]) -> Any:
        """Rows, as an action gave them."""
        self._rows = None
        if "list" in told or "one" in told:
            count = told.get("list", told.get("one"))
            rows = [_made(self._border, next(self._records)[2], told.get("shape")) for _ in range(int(count or 0))]
            return rows if "list" in told else rows[0] if rows else None
        return self._given(told)

    def ask(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: FrameType) -> dict[str, Any]:
        """The recorded answer, if the same was asked."""
        line = self._border.next("ask", f"asks {what}", frame)
        given = [*arguments, *keywords.items()]
        same_name, told = line.get("what") == what, line.get("with") or {}
        known = _known(given) if given else None
        if not same_name or bool(given) != bool(told) or ("known" in told and told["known"] != known):
            raise self._border.other(f"asks {what}", values.plain(given) if same_name else None, frame, line)
        if told and what.partition(".")[2].startswith(_CHANGES):
            self._border.compared += "known" in told
        if told and not what.startswith("StatefulProcessorHandle.get"):
            self._border.unverified += "known" not in told
        if isinstance(line.get("raised"), dict):
            raise fault_of(line["raised"], _sparks_errors())
        return line


def _is_processor(what: Any) -> bool:
    return hasattr(what, "handleInputRows")


def _sparks_errors() -> tuple[type[Exception], ...]:
    from pyspark import errors

    return tuple(one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception))


def _class_called(name: str) -> Any:
    from pyspark.sql.streaming import state, stateful_processor

    return getattr(state, name, None) or getattr(stateful_processor, name, None)


class StandIn:
    """For an object of Spark's that the function was given: it answers as it did, if it is asked the same."""

    def __init__(self, name: str, calls: _Calls):
        self._name, self._calls = name, calls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in values.CLOCKS:
            return lambda: services.current.get().answer(sys._getframe(1), name, 0)
        what = f"{self._name}.{name}"
        if not callable(getattr(_class_called(self._name), name, None)):
            return self._answered(what, (), {}, sys._getframe(1))

        def asked(*arguments: Any, **keywords: Any) -> Any:
            return self._answered(what, arguments, keywords, sys._getframe(1))

        return asked

    def _answered(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: FrameType) -> Any:
        line = self._calls.ask(what, arguments, keywords, frame)
        if "each" in line:
            return iter(self._calls.collected(line["each"]))
        return self._calls.collected(line)


class StandInFrame:
    """For the frame of a batch: what was collected of it is there, and nothing else."""

    def __init__(self, calls: _Calls):
        self._calls = calls

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For jobs that look at what they are given."""
        from pyspark.sql import DataFrame

        return DataFrame

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _AS_IT_IS:
            return lambda *_, **__: self
        if name not in _COLLECTS:
            raise self._calls._border.lacks(
                f"the function asks its batch for {name}, and what Spark makes of a batch is not recorded: only what "
                f"{', '.join(_COLLECTS[:-1])} or {_COLLECTS[-1]} gave"
            )

        def asked(*arguments: Any, **keywords: Any) -> Any:
            line = self._calls.ask(f"DataFrame.{name}", arguments, keywords, sys._getframe(1))
            return self._calls.collected(line)

        return asked
