"""Calls a job's function as Spark did, along what was recorded of it: where the code is, and without Spark's JVM."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

from clonoscope.adapters import spark_values as values
from clonoscope.adapters.spark_border import ROWS
from clonoscope.adapters.spark_containers import contained
from clonoscope.adapters.spark_shapes import NotMade, known_by, known_parts, made
from clonoscope.adapters.spark_stand_ins import StandIn, StandInFrame, without_spark
from clonoscope.calls import Call, fault_of
from clonoscope.json_values import from_json
from clonoscope.onsite.border import Border
from clonoscope.onsite.outputs import line_of
from clonoscope.onsite.returning import Returned
from clonoscope.onsite.stopping import unseen

_NOT_TOLD = (
    'how the function was called, and what it gave, is not recorded: record with results=True, and payload="full" for '
    "what it was given"
)
_OF_WRITERS = (
    "what a writer does with a row is not recorded, but for what it asks, what it hands to clonoscope.external with "
    'effect="write", and what it gives with outputs'
)
# What tells a state or a timer something; all else that is asked is no effect.
_CHANGES = ("update", "append", "put", "remove", "clear", "set", "register", "delete")
# What Spark calls of a processor, and nothing else that a bundle may say.
_METHODS = ("init", "handleInputRows", "handleInitialState", "handleExpiredTimer")


def adapted(what: Any, task: Any) -> Callable[..., Any]:
    """What a replay calls in place of a function, a processor or its class."""
    border: Border = task.border
    began = border.began
    if began is None or not began.get("results"):
        task.doubt("the recording does not say of which types the function's arguments were")
    border.heard = functools.partial(_handed_over, border)
    if hasattr(what, "process") and not _is_processor(what) and (inspect.isclass(what) or not callable(what)):
        return _Writer(what, task).process
    if hasattr(what, "evalType") and hasattr(what, "func"):
        what = what.func  # what `udf` made of it
    if began is None or began.get("form") == ROWS:
        return _for_each_row(what, border)

    def process(records: Iterator[Any]) -> None:
        if not began.get("results"):
            raise border.lacks(_NOT_TOLD)
        _Calls(what, border, records).run()

    return process


def _for_each_row(what: Any, border: Border) -> Callable[[Any], None]:
    several = len(inspect.signature(what).parameters) != 1
    returned = Returned(what)
    compared = (border.began or {}).get("results")

    def process(record: Any) -> None:
        arguments = record[2]
        at_once = several
        if border.shape is not None:
            arguments = _made(border, arguments, border.shape)
            at_once = isinstance(border.shape, dict) and "tuple" in border.shape
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


def _handed_over(border: Border, call: Call, frame: FrameType) -> None:
    """Is held against what was handed over when it was recorded."""
    does = f"hands something to {call.name}"
    line = border.next("write", does, frame)
    with unseen():
        parts, others = known_parts([*call.arguments, *call.keywords.items()])
        known = known_by(parts)
    told = line.get("with") or {}
    same_name = line.get("what") == call.name
    does = f"hands something else to {call.name}" if same_name else does
    if not same_name or told.get("known") != known or line.get("others", []) != others:
        raise border.other(does, values.plain(parts) if same_name else None, frame, line)
    border.written += not others
    border.unsaid += bool(others)


def _raised(line: dict[str, Any]) -> Exception | None:
    """What Spark raised there."""
    found = line.get("raised")
    return fault_of(found, _sparks_errors()) if isinstance(found, dict) else None


class _Writer:
    """Of `foreach`: made anew for each batch, opened, given rows, closed."""

    def __init__(self, what: Any, task: Any):
        self._what, self._task, self._border = what, task, task.border
        self._border.untold = _OF_WRITERS
        self._is_compared = (self._border.began or {}).get("results")

    def process(self, records: Iterator[Any], epoch: int) -> None:
        """A batch."""
        border = self._border
        writer = self._what() if inspect.isclass(self._what) else copy.deepcopy(self._what)
        if self._is_wanted(writer, epoch):
            returned = Returned(writer.process)
            for record in records:
                self._give(writer, record, returned)
        if border.has_parted:
            return
        if (border.ahead or {}).get("is") == "pull" and (fault := _raised(border.next("pull", "", None))) is not None:
            raise fault
        # Where the attempt failed, it was over before it was closed.
        if hasattr(writer, "close") and (border.is_over or border.held.raised is None):
            writer.close(None)

    def _is_wanted(self, writer: Any, epoch: int) -> bool:
        """Whether it takes rows: as Spark asks it."""
        border = self._border
        if not hasattr(writer, "open"):
            return True
        returned = Returned(writer.open)
        found = bool(returned.calling(writer.open, self._task.subtask, epoch))
        if border.tells_of_writes:
            line = border.next("opened", "is opened", None)
            if line.get("known") != _known(found):
                wanted = "wants" if found else "does not want"
                raise border.other(f"{wanted} rows", None, None, line, returned.line)
        return found

    def _give(self, writer: Any, record: Any, returned: Returned) -> None:
        border, task = self._border, self._task
        row = record[2] if border.shape is None else _made(border, record[2], border.shape)
        given, written = border.told.outputs_given, border.written
        returned.calling(writer.process, row)
        if self._is_compared:
            border.given(_known(None), lambda: None, returned.line, counts=False)
        if border.told.outputs_given == given:
            task.given([None, 0, record[2]], None, None)
            border.untold = border.untold if border.written == written else ""
        else:
            border.untold = ""


class _Calls:
    """Of one epoch. Rows come from the replay, as they are asked for."""

    def __init__(self, what: Any, border: Border, records: Iterator[Any]):
        self.border, self._records = border, records
        self._what = what() if inspect.isclass(what) else copy.deepcopy(what) if _is_processor(what) else what
        # Of the call, or the batch, in hand: its rows are spread over several arguments.
        self._rows: list[Any] | None = None

    def run(self) -> None:
        """Call by call."""
        border = self.border
        while border.ahead is not None and not border.has_parted:
            self._call(border.next("call", "is done", None))

    def _call(self, line: dict[str, Any]) -> None:
        method = line.get("method")
        is_batch = method == "foreachBatch"
        if method and not is_batch and method not in _METHODS:
            raise self.border.lacks(f"Spark calls no method {str(method)[:100]!r}, and a bundle may not name others")
        function = getattr(self._what, method) if method and not is_batch else self._what
        if line.get("row"):
            next(self._records)
        self._rows = None
        arguments = [self._given(one) for one in line.get("arguments", ())]
        keywords = {name: self._given(one) for name, one in line.get("keywords", {}).items()}
        returned = Returned(function)
        with without_spark(self.border) if is_batch else nullcontext():
            found = returned.calling(function, *arguments, **keywords)
        if values.is_iterator(found):
            self._drain(found)
        elif not is_batch:
            _gave(self.border, found, returned.line)

    def _drain(self, found: Any) -> None:
        """As far as Spark asked for more."""
        border = self.border
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
            column = told.get("column")
            # Columns of one batch share their rows.
            if column is None or self._rows is None:
                self._rows = [next(self._records)[2] for _ in range(told["rows"])]
            rows = self._rows if column is None else [row[column] for row in self._rows]
            return self._contained(rows, told)
        if "value" in told:
            value = from_json(told["value"])
            return self._contained(value, told) if "known" in told else _made(self.border, value, told.get("shape"))
        raise self.border.lacks(f"what the function was given is not recorded: {told.get('lacking', told)}")

    def _contained(self, rows: list[Any], told: dict[str, Any]) -> Any:
        try:
            with unseen():
                return contained(rows, told)
        except NotMade as fault:
            raise self.border.lacks(
                f"what the function was given can't be made again of the recording: {fault}"
            ) from fault

    def _pulled(self) -> Iterator[Any]:
        while True:
            line = self.border.next("pull", "asks for more rows", sys._getframe(1))
            if line.get("end"):
                return
            if (fault := _raised(line)) is not None:
                raise fault
            self._rows = None
            if "record" in line:
                yield _made(self.border, next(self._records)[2], line["record"])
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
            rows = [_made(self.border, next(self._records)[2], told.get("shape")) for _ in range(int(count or 0))]
            return rows if "list" in told else rows[0] if rows else None
        return self._given(told)

    def ask(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: FrameType) -> dict[str, Any]:
        """The recorded answer, if the same was asked."""
        line = self.border.next("ask", f"asks {what}", frame)
        given = [*arguments, *keywords.items()]
        same_name, told = line.get("what") == what, line.get("with") or {}
        known = _known(given) if given else None
        if not same_name or bool(given) != bool(told) or ("known" in told and told["known"] != known):
            raise self.border.other(f"asks {what}", values.plain(given) if same_name else None, frame, line)
        if told and what.partition(".")[2].startswith(_CHANGES):
            self.border.compared += "known" in told
        if told and not what.startswith("StatefulProcessorHandle.get"):
            self.border.unverified += "known" not in told
        if (fault := _raised(line)) is not None:
            raise fault
        return line


def _is_processor(what: Any) -> bool:
    return hasattr(what, "handleInputRows")


def _sparks_errors() -> tuple[type[Exception], ...]:
    from pyspark import errors

    return tuple(one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception))
