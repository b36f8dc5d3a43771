"""Numbers that are drawn from numpy's own generator: its functions of C tell nobody, so its state is looked at."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_MODULE = "numpy.random.mtrand"


class _Twister(ctypes.Structure):
    """How numpy's MT19937 lays out its state: a draw moves `position` on, or makes all numbers anew."""

    _fields_ = (("first", ctypes.c_uint32), ("others", ctypes.c_uint32 * 623), ("position", ctypes.c_int))


class Place:
    """Where the generator is: a draw moves it on, or uses up what the one before left over."""

    def __init__(self) -> None:
        generator = _generator()
        found = generator.get_state(legacy=False)
        inner = found["state"]
        place = (inner["pos"], int(inner["key"][0])) if "key" in inner else str(inner)
        self._state = place, found.get("has_gauss"), found.get("has_uint32")
        self._bits = generator._bit_generator
        self._twister: _Twister | None = None
        # Copying a whole state takes as long as a hundred lines. Where nothing is left over, any draw must move it on.
        if found["bit_generator"] == "MT19937" and not found.get("has_gauss"):
            self._twister = _Twister.from_address(self._bits.ctypes.state_address)
            self._position, self._first = self._twister.position, self._twister.first

    def is_left(self) -> bool:
        twister = self._twister
        if twister is None or _generator()._bit_generator is not self._bits:
            return Place()._state != self._state
        return bool(twister.position != self._position or twister.first != self._first)


def _generator() -> Any:
    return vars(sys.modules[_MODULE])["_rand"]


class Draws:
    """Looks at the generator behind the functions of `numpy.random` after every line of an operator.

    What an operator makes itself, with a seed or without one, is another: reading a seed from the system is heard.
    """

    def __init__(self, is_own: Callable[[FrameType], bool], drew: Callable[[FrameType, int], None]):
        self._is_own = is_own
        self._drew = drew
        self._place: Place | None = None
        self._lines: dict[FrameType, int] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """As long as this lasts; nothing is done where nobody has imported it."""
        if _MODULE not in sys.modules:
            yield
            return
        before = sys.gettrace()
        self._look(None)  # others may have drawn meanwhile
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
        if self._place is None or self._place.is_left():
            self._place = Place()
            if frame is not None:
                self._drew(frame, line or frame.f_lineno)


def _first(frame: FrameType | None, is_own: Callable[[FrameType], bool]) -> FrameType | None:
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    return frame
