"""What an operator's own code did in one call, line by line: two executions are held against each other by it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from replay.debugger.hunting.canonical import TooLarge, canonical

MOST_EVENTS = 20_000


class Event(NamedTuple):
    """`what`: `call` with its arguments, `line` before it is executed, `return` with what is returned
    and what is there by then, `emit` of a record. `frame` counts the operator's own frames; `caller` is the operator's
    line that led there, 0 where none did.
    """

    what: str
    file: str
    line: int
    frame: int
    value: str
    caller: tuple[str, int] = ("", 0)


class LineTrace:
    """Follows the frames of modules that `is_own` says are the operator's."""

    def __init__(self, is_own: Callable[[str], bool]):
        self.events: list[Event] = []
        self._is_own = is_own
        self._frames: dict[FrameType, int] = {}
        self._count = 0

    @contextmanager
    def following(self) -> Iterator[None]:
        """While the operator is at work."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def emitted(self, value: str) -> None:
        """The operator gave a record away."""
        file, line = self._own_line(sys._getframe(1))
        self._add(Event("emit", file, line, 0, value))

    def _add(self, event: Event) -> None:
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self._is_own(str(frame.f_globals.get("__name__", ""))):
            return None
        self._count += 1
        self._frames[frame] = self._count
        code, caller = frame.f_code, self._own_line(frame.f_back)
        self._add(Event("call", code.co_filename, frame.f_lineno, self._count, _of(frame.f_locals), caller))
        return self._follow

    def _follow(self, frame: FrameType, event: str, argument: Any) -> Any:
        number, file = self._frames.get(frame, 0), frame.f_code.co_filename
        if event == "line":
            self._add(Event("line", file, frame.f_lineno, number, _of(frame.f_locals)))
        elif event == "return":
            self._frames.pop(frame, None)
            # What the last line left in the operator's attributes shows here.
            self._add(Event("return", file, frame.f_lineno, number, f"{_of(argument)} {_of(frame.f_locals)}"))
        return self._follow

    def _own_line(self, frame: FrameType | None) -> tuple[str, int]:
        while frame is not None:
            if frame in self._frames:
                return frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        return "", 0


def _of(value: Any) -> str:
    try:
        return canonical(value)
    except TooLarge:
        return "…"
    except Exception as fault:  # an edge: looking at a value may run its own code
        return f"not to be looked at: {type(fault).__name__}"


def moving_line(first: Sequence[Event], second: Sequence[Event]) -> tuple[str, int] | None:
    """(file, line) of what made two executions part: the line that was executed before their values first differed."""
    last: dict[int, tuple[str, int]] = {}
    before: tuple[str, int] | None = None
    for one, other in zip(first, second, strict=False):
        here = one.file, one.line
        if one != other:
            if one[:4] == other[:4]:
                return _maker(one, last)
            return before or (here if here[1] else None)
        if one.line:
            before = here
        if one.what == "line":
            last[one.frame] = here
    return before if len(first) != len(second) else None


def _maker(event: Event, last: dict[int, tuple[str, int]]) -> tuple[str, int] | None:
    if event.what == "line":
        return last.get(event.frame)
    if event.what == "call":
        return (event.caller[0], event.caller[1]) if event.caller[1] else None
    return (event.file, event.line) if event.line else None
