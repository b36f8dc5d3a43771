"""Numbers that are drawn from numpy's own generator: its functions of C tell nobody, so its state is looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_MODULE = "numpy.random.mtrand"
State = tuple[Any, ...]


class Draws:
    """Looks at the generator behind the functions of `numpy.random` after every line of an operator.

    What an operator makes itself, with a seed or without one, is another: reading a seed from the system is heard.
    """

    def __init__(self, is_own: Callable[[FrameType], bool], drew: Callable[[FrameType, int], None]):
        self._is_own = is_own
        self._drew = drew
        self._state: State | None = None
        self._lines: dict[FrameType, int] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """As long as this lasts; nothing is done where nobody has imported it."""
        if _MODULE not in sys.modules:
            yield
            return
        before, self._state = sys.gettrace(), _state()
        self._lines.clear()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            self._lines.clear()

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self._is_own(frame):
            return None
        self._look(_first(frame.f_back, self._is_own))  # an argument may have been drawn
        return self._follow

    def _follow(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._look(frame, self._lines.get(frame))
        if event == "return":
            self._lines.pop(frame, None)
        else:
            self._lines[frame] = frame.f_lineno
        return self._follow

    def _look(self, frame: FrameType | None, line: int | None = None) -> None:
        state = _state()
        if state != self._state:
            self._state = state
            if frame is not None:
                self._drew(frame, line or frame.f_lineno)


def _first(frame: FrameType | None, is_own: Callable[[FrameType], bool]) -> FrameType | None:
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    return frame


def _state() -> State:
    """Where the generator is: a draw moves it on, or uses up what the one before left over."""
    found = vars(sys.modules[_MODULE])["_rand"].get_state(legacy=False)
    inner = found["state"]
    place = (inner["pos"], int(inner["key"][0])) if "key" in inner else str(inner)
    return place, found.get("has_gauss"), found.get("has_uint32")
