"""Which line of an operator's source did something: wrote a record, or changed a key of its state."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from replay.debugger.diverging.source_line import OperatorCode, line_of
from replay.debugger.writing.state_keys import flat
from replay.runtime.operators import Operator
from replay.runtime.operators.surrounded import Surrounded

T = TypeVar("T")

_NEAREST = 16
_PACKAGES = Path(__file__).resolve().parents[3]


def named(path: str, line: int) -> str:
    """`replay/jobs/concat.py:41`: as short as it is unambiguous."""
    where = Path(path)
    return f"{where.relative_to(_PACKAGES) if where.is_relative_to(_PACKAGES) else where}:{line}"


class LinesOf:
    """The lines of an operator's code, each put into words once. `own`: without the classes that it is made of."""

    def __init__(self, operator: Operator, *, own: bool = False):
        self._code = OperatorCode(operator)
        if own:
            self._code.modules = {type(operator).__module__}
        self._said: dict[tuple[CodeType, int], str] = {}

    def owns(self, frame: FrameType) -> bool:
        """Whether a frame executes the operator's code."""
        return self._code.owns(frame)

    def now(self) -> str:
        """The innermost line of it in the calls that lead here; nothing where none is near."""
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_NEAREST):
            if frame is None:
                return ""
            if self._code.owns(frame):
                return self.said(frame, frame.f_lineno)
            frame = frame.f_back
        return ""

    def said(self, frame: FrameType, line: int) -> str:
        """`replay/jobs/concat.py:32` and what stands there."""
        known = (frame.f_code, line)
        if known not in self._said:
            self._said[known] = str(line_of(frame.f_code, line, frame.f_globals))
        return self._said[known]


class LineOfChange(Surrounded):
    """Watches one of an operator's calls line by line: which one changed that key of its state."""

    def __init__(self, operator: Operator, call: int, key: str):
        """`call`: the so-and-so-many-th record, timer or watermark that the operator is given, from 0."""
        super().__init__(operator)
        self._call = call
        self._key = key
        self._lines = LinesOf(operator, own=True)
        self._calls = 0
        self.line = ""

    def called(self, method: str, action: Callable[[], T]) -> T:
        """Follows the lines of that one."""
        if not method.startswith("on_"):
            return action()
        number, self._calls = self._calls, self._calls + 1
        if number != self._call:
            return action()
        before, traced = sys.gettrace(), _Lines(self._lines, self._value)
        sys.settrace(traced.enter)
        try:
            result = action()
        finally:
            sys.settrace(before)
        traced.ended()
        self.line = traced.line
        return result

    def _value(self) -> str | None:
        return flat(self.operator.snapshot()).get(self._key)


class _Lines:
    """A trace function: after each line of the operator's code, whether the value is another one now."""

    def __init__(self, lines: LinesOf, value: Callable[[], str | None]):
        self._lines = lines
        self._value = value
        self._last = value()
        # Of each call that is open, the line that is being executed: it may have called somebody else's code.
        self._open: dict[FrameType, int] = {}
        self._last_line = ""
        self.line = ""

    def enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Only the operator's own code is followed."""
        if not self._lines.owns(frame):
            return None
        self._open[frame] = frame.f_lineno
        return self._follow

    def _follow(self, frame: FrameType, event: str, argument: Any) -> Any:
        line = self._last_line = self._lines.said(frame, self._open.get(frame, frame.f_lineno))
        if event == "return":
            self._open.pop(frame, None)
        else:
            self._open[frame] = frame.f_lineno
        self._look(line)
        return self._follow

    def ended(self) -> None:
        """What changes after the operator's own code (a base class keeps what it returned) is its last line's doing."""
        self._look(self._last_line)

    def _look(self, line: str) -> None:
        """Did that line, which is done now, change it? The last one that did counts."""
        now = self._value()
        if now != self._last:
            self._last = now
            self.line = line
