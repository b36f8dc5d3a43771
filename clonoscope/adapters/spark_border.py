"""Writes down what passes between Spark and a function: calls, what they are given and ask, hashes of what they give.

With it a replay can call the function as Spark did, and tell whether it gives the same. Values are there where the
recording has them; rows are those that the task takes, and only said to be there.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from clonoscope import services
from clonoscope.adapters import spark_values as values
from clonoscope.adapters.spark_containers import container_of
from clonoscope.adapters.spark_shapes import NotMade, all_of, as_it_was, known_by, known_parts, merged, shape_of
from clonoscope.calls import Call, type_of
from clonoscope.errors import message_of
from clonoscope.json_values import to_json
from clonoscope.tasks import Task
from replay.model import json_bytes

ENGINE = "spark"
ROWS, CALLS, WRITER = "rows", "calls", "writer"
"""Forms: called for each row, otherwise, or a writer of `foreach`: opened, called for each row, closed."""
# Of a value that is there to be shown, or to be given again: what is larger is not.
_SHOWN_BYTES, _GIVEN_BYTES = 4_000, 100_000
_OBJECTS = {"GroupState", "StatefulProcessorHandle", "ValueState", "ListState", "MapState", "TimerValues"}
_OBJECTS |= {"ExpiredTimerInfo", "DataFrame"}
_TELLS_TIME = ("GroupState", "TimerValues")


def tell_how(task: Task, form: str, *, whole: bool, results: bool) -> None:
    """How the function is called, and whether more is told of it."""
    task.border({"is": "begin", "engine": ENGINE, "form": form, "whole": whole, "results": results, "writes": results})


def unfailing(method: Callable[..., None]) -> Callable[..., None]:
    """Whatever a value is, the job goes on."""

    @functools.wraps(method)
    def told(self: Border, *arguments: Any, **keywords: Any) -> None:
        try:
            method(self, *arguments, **keywords)
        except Exception as fault:
            self.task.log.gap(f"what passes to the function and back can't be recorded: {type(fault).__qualname__}")

    return told


class Border:
    """Of one task in one epoch. `whole`: with values."""

    def __init__(self, task: Task, *, whole: bool):
        self.task, self._whole = task, whole
        self._shape: Any = None
        self._form = ""
        # The generator that is at work: lines of two at once could not be told apart.
        self._at_work: object = None

    def _put(self, kind: str, **fields: Any) -> None:
        self.task.border({"is": kind, **fields})

    def _begin(self, form: str) -> None:
        if not self._form:
            self._form = form
            self.task.log.writes = self._wrote
            tell_how(self.task, form, whole=self._whole, results=True)
        elif self._form != form:
            self.mixed("it is called in several ways")

    def mixed(self, why: str) -> None:
        """What follows can't be told apart."""
        self._put("mixed", why=why)

    # --- a function of rows ---

    @unfailing
    def row(self, found: Any, form: str = ROWS) -> None:
        """A row is a call of its own; what rows are made of is said as far as it is new."""
        self._begin(form)
        if self._whole:
            grown = merged(self._shape, shape_of(found))
            if grown != self._shape:
                self._shape = grown
                self._put("shape", of=as_it_was(grown))

    @unfailing
    def begins_writing(self) -> None:
        """A writer is opened."""
        self._begin(WRITER)

    @unfailing
    def opened(self, found: bool) -> None:
        """It said whether it wants rows."""
        self._put("opened", **self._known(found))

    @unfailing
    def _wrote(self, call: Call, frame: FrameType) -> None:
        """The function hands something to the outside."""
        parts, others = known_parts([*call.arguments, *call.keywords.items()])
        self._put("write", what=call.name, **{"with": self._known(parts)}, **_some(others=others))

    # --- other functions ---

    @unfailing
    def call(
        self, method: str, arguments: Sequence[Any], keywords: dict[str, Any], *, takes: bool, row: bool = False
    ) -> None:
        """Of what was taken, rows are counted; whatever else is given is told of. `row`: all that is given is one."""
        self._begin(CALLS)
        if self._at_work is not None:
            self.mixed("two of its calls are at work at the same time")
        columns = [one for one in (*arguments, *keywords.values()) if values.is_columnar(one)] if takes else []
        sides = values.sides_of(columns)
        told = [self._given(one, sides) for one in arguments]
        named = {name: self._given(one, sides) for name, one in keywords.items()}
        self._put("call", method=method, arguments=told, **_some(keywords=named, row=row))

    def _given(self, one: Any, sides: Sequence[Sequence[Any]] = ()) -> dict[str, Any]:
        if values.is_iterator(one):
            return {"iterator": True}
        if name := name_of(one):
            return {"stands": name}
        for columns in sides if values.is_columnar(one) else ():
            if (at := _index(columns, one)) is not None:
                more = {"column": at} if len(columns) > 1 else {}
                return {"rows": values.columnar_rows(columns[0]), **more, **container_of(one)}
        return self._value(one)

    def _value(self, one: Any) -> dict[str, Any]:
        if one is None:
            return {"value": None, "shape": None}
        if not self._whole:
            return {"lacking": "values are not recorded"}
        try:
            if values.is_columnar(one):
                found = {"value": to_json(values.columnar_records(one)), **container_of(one)}
            else:
                found = {"value": to_json(values.plain(one)), "shape": as_it_was(shape_of(one))}
            if len(json_bytes(found)) <= _GIVEN_BYTES:
                return found
            return {"lacking": "it is too large"}
        except (TypeError, ValueError, RecursionError) as fault:
            return {"lacking": f"{type(fault).__name__}: {fault}"[:200]}

    @unfailing
    def pulled(self, call: object, one: Any) -> None:
        """The function has asked for what comes next, and was given rows that the task took."""
        self._is_at_work(call)
        parts = one if type(one) is tuple else (one,)
        columns = [part for part in parts if values.is_columnar(part)]
        if not columns:
            self._put("pull", **({"record": as_it_was(shape_of(one))} if self._whole else {"record": None}))
            return
        found = [self._given(part, [columns]) for part in parts]
        told: dict[str, Any] = {"parts": found} if type(one) is tuple else {"argument": found[0]}
        self._put("pull", **told)

    @unfailing
    def pulled_all(self, call: object) -> None:
        """It has asked, and there was nothing more."""
        self._is_at_work(call)
        self._put("pull", end=True)

    @unfailing
    def pull_failed(self, call: object, fault: BaseException) -> None:
        """It has asked, and the engine had something to raise."""
        self._is_at_work(call)
        self._put("pull", **self.refused(fault))

    @unfailing
    def gave(self, one: Any, call: object = None) -> None:
        """What it returned for a row, or yielded."""
        self._is_at_work(call)
        self._put("give", **self._known(one))

    def _known(self, one: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = {"known": known_by(one)}
        except (NotMade, RecursionError) as fault:
            return {"unknown": str(fault)[:200]}
        if self._whole:
            try:
                shown = to_json(values.columnar_records(one) if values.is_columnar(one) else values.plain(one))
                if len(json_bytes(shown)) <= _SHOWN_BYTES:
                    found["value"] = shown
            except (TypeError, ValueError, RecursionError):
                pass  # the hash is enough
        return found

    @unfailing
    def returned(self, one: Any, call: object) -> None:
        """The call is over, and gave this."""
        self._is_at_work(call)
        self._at_work = None
        self._put("give", **self._known(one))

    @unfailing
    def over(self, call: object) -> None:
        """Its generator has nothing more."""
        self._is_at_work(call)
        self._at_work = None
        self._put("over")

    @unfailing
    def left(self, call: object) -> None:
        """Spark wants no more of its generator."""
        self._at_work = None
        self._put("left")

    def _is_at_work(self, call: object) -> None:
        if call is None:
            return
        if self._at_work is None:
            self._at_work = call
        elif self._at_work is not call:
            self.mixed("two of its calls are at work at the same time")

    # --- what it asks of Spark's own objects ---

    @unfailing
    def asked(
        self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any], found: Callable[[], dict[str, Any]]
    ) -> None:
        """An object of Spark's was asked, or told something, and has answered."""
        told = {"with": self._known([*arguments, *keywords.items()])} if arguments or keywords else {}
        self._put("ask", what=what, **told, **found())

    def answer(self, found: Any) -> dict[str, Any]:
        """As a line has it."""
        return self._given(found)

    def refused(self, fault: BaseException) -> dict[str, Any]:
        """The same, of what was raised."""
        return {"raised": {"type": type_of(fault), "message": message_of(fault)}}

    def collected(self, found: Any) -> dict[str, Any]:
        """What the driver's function collected of its batch; each row is taken."""
        if values.is_columnar(found):
            return {"rows": values.columnar_rows(found), **container_of(found)}
        rows = found if isinstance(found, list) else [] if found is None else [found]
        shape = as_it_was(all_of(map(shape_of, rows))) if self._whole else None
        return {"list" if isinstance(found, list) else "one": len(rows), "shape": shape}


def name_of(one: Any) -> str:
    """What kind of Spark's objects it is, also where it is watched already; nothing for what is none of them."""
    kind = type(one._real if isinstance(one, Watched) else one)
    return kind.__name__ if kind.__module__.partition(".")[0] == "pyspark" and kind.__name__ in _OBJECTS else ""


def watched(one: Any, border: Callable[[], Border | None]) -> Any:
    """Timer values and states know the batch's time and the watermark, and what was kept."""
    name = name_of(one)
    recorded = name in _TELLS_TIME or (name and name != "DataFrame" and border() is not None)
    return Watched(one, border) if recorded and not isinstance(one, Watched) else one


def _index(columns: Sequence[Any], one: Any) -> int | None:
    return next((at for at, column in enumerate(columns) if column is one), None)


def _some(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


class Watched:
    """Stands for an object of Spark's that tells a function of its state, or of the time of its batch.

    Clocks are recorded as such; with a border everything else is told of there.
    """

    def __init__(self, real: Any, border: Callable[[], Border | None]):
        self._real, self._border = real, border

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        border = self._border()
        if border is None or name in values.CLOCKS:
            found = getattr(self._real, name)
            return self._clock(name, found) if name in values.CLOCKS else found
        what = f"{type(self._real).__name__}.{name}"
        if callable(getattr(type(self._real), name, None)):
            return self._method(what, getattr(self._real, name))
        return self._told(what, lambda: getattr(self._real, name))

    def _clock(self, name: str, found: Callable[[], Any]) -> Callable[[], Any]:
        def clock() -> Any:
            return services.current.get().answer(sys._getframe(1), name, found())

        return clock

    def _method(self, what: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def asking(*arguments: Any, **keywords: Any) -> Any:
            return self._told(what, lambda: method(*arguments, **keywords), arguments, keywords)

        return asking

    def _told(
        self, what: str, ask: Callable[[], Any], arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        border = self._border()
        try:
            found = ask()
        except Exception as fault:
            if border is not None:
                raised = border.refused(fault)
                border.asked(what, arguments, keywords or {}, lambda: raised)
            raise
        if border is None:
            return found
        if values.is_iterator(found):
            # What the store has of it is read at once: it is small, and nobody else reads meanwhile.
            listed = list(found)
            border.asked(what, arguments, keywords or {}, lambda: {"each": border.answer(listed)})
            return iter(listed)
        border.asked(what, arguments, keywords or {}, lambda: border.answer(found))
        return watched(found, self._border)
