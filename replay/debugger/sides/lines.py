"""Which line of an operator's source did something: wrote a record, or changed a key of its state."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from replay.debugger.state_keys import flat
from replay.model import Record
from replay.runtime.operators import Context, Operator, Timer

_NEAREST = 12
_PACKAGES = Path(__file__).resolve().parents[3]


def file_of(operator: Operator) -> str:
    """The file that the operator's class stands in; nothing where it has none."""
    try:
        return inspect.getfile(type(operator))
    except (OSError, TypeError):
        return ""


def named(path: str, line: int) -> str:
    """`replay/jobs/concat.py:41`: as short as it is unambiguous."""
    where = Path(path)
    return f"{where.relative_to(_PACKAGES) if where.is_relative_to(_PACKAGES) else where}:{line}"


def calling_line(path: str) -> str:
    """The line of that file that is being executed below here; nothing where none is near."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_NEAREST):
        if frame is None:
            return ""
        if frame.f_code.co_filename == path:
            return named(path, frame.f_lineno)
        frame = frame.f_back
    return ""


class LineOfChange(Operator):
    """Stands before an operator and watches one of its calls line by line: which one changed that key of its state."""

    def __init__(self, operator: Operator, call: int, key: str):
        """`call`: the so-and-so-many-th record, timer or watermark that the operator is given, from 0."""
        self._operator = operator
        self._call = call
        self._key = key
        self._path = file_of(operator)
        self._calls = 0
        self.line = ""

    def open(self, context: Context) -> None:
        """As the operator."""
        self._operator.open(context)

    def on_record(self, record: Record, context: Context) -> None:
        """As the operator."""
        self._called(lambda: self._operator.on_record(record, context))

    def on_timer(self, timer: Timer, context: Context) -> None:
        """As the operator."""
        self._called(lambda: self._operator.on_timer(timer, context))

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """As the operator."""
        self._called(lambda: self._operator.on_watermark(watermark_ms, context))

    def snapshot(self) -> dict[str, Any]:
        """As the operator."""
        return self._operator.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """As the operator."""
        self._operator.restore(state)

    def _called(self, action: Callable[[], None]) -> None:
        number, self._calls = self._calls, self._calls + 1
        if number != self._call or not self._path:
            action()
            return
        before, traced = sys.gettrace(), _Lines(self._path, self._value)
        sys.settrace(traced.enter)
        try:
            action()
        finally:
            sys.settrace(before)
        traced.ended()
        self.line = traced.line

    def _value(self) -> str | None:
        return flat(self._operator.snapshot()).get(self._key)


class _Lines:
    """A trace function: after each line of the operator's file, whether the value is another one now."""

    def __init__(self, path: str, value: Callable[[], str | None]):
        self._path = path
        self._value = value
        self._last = value()
        # Of each call that is open, the line that is being executed: it may have called somebody else's code.
        self._open: dict[FrameType, int] = {}
        self._last_line = 0
        self.line = ""

    def enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Only what stands in the operator's own file is followed."""
        if frame.f_code.co_filename != self._path:
            return None
        self._open[frame] = frame.f_lineno
        return self._follow

    def _follow(self, frame: FrameType, event: str, argument: Any) -> Any:
        line = self._last_line = self._open.get(frame, frame.f_lineno)
        if event == "return":
            self._open.pop(frame, None)
        else:
            self._open[frame] = frame.f_lineno
        self._look(line)
        return self._follow

    def ended(self) -> None:
        """What changes after the operator's own code (a base class keeps what it returned) is its last line's doing."""
        self._look(self._last_line)

    def _look(self, line: int) -> None:
        """Did that line, which is done now, change it? The last one that did counts."""
        now = self._value()
        if now != self._last:
            self._last = now
            self.line = named(self._path, line)
