"""The line at which a function of the job's returned: its frame is gone by then."""

from __future__ import annotations

import functools
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

_TEXT_SHOWN = 200


def code_of(function: Any) -> CodeType | None:
    """The code that runs when it is called; None where that is none of Python's."""
    if isinstance(function, functools.partial):
        return code_of(function.func)
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    found = getattr(function, "__code__", None)
    if found is None and not inspect.isclass(function):
        found = getattr(vars(type(function)).get("__call__"), "__code__", None)
    return found if isinstance(found, CodeType) else None


class Returned:
    """Where a function has returned last."""

    def __init__(self, function: Any):
        self._code = code_of(function)
        self._at = 0

    @property
    def line(self) -> dict[str, Any] | None:
        """As an outcome's detail carries it."""
        code = self._code
        if code is None or not self._at:
            return None
        text = linecache.getline(code.co_filename, self._at).strip()[:_TEXT_SHOWN]
        return {"file": code.co_filename, "line": self._at, "function": code.co_qualname, "text": text}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within, its returns are seen; not where somebody else watches this thread already."""
        if self._code is None or sys.getprofile() is not None:
            yield
            return
        sys.setprofile(self._heard)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _heard(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and frame.f_code is self._code:
            self._at = frame.f_lineno

    def calling(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Calls it, watched."""
        with self.watching():
            return function(*arguments, **keywords)
