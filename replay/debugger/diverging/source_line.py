"""Which line of an operator's code was at work: found in the frames of a call, or of what was raised."""

from __future__ import annotations

import gc
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType, FrameType
from typing import Any

from replay.errors import printable
from replay.runtime.operators import Operator
from replay.runtime.operators.surrounded import innermost

_SHOWN = 160


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of code that is installed here. `file` is as the module's own package names it."""

    file: str
    line: int
    function: str
    text: str

    def to_json(self) -> dict[str, Any]:
        """As an outcome's detail carries it."""
        return {"file": self.file, "line": self.line, "function": self.function, "text": self.text}

    def __str__(self) -> str:
        said = f" `{self.text}`" if self.text else ""
        return f"{self.file}:{self.line}{said}"


class OperatorCode:
    """Whose code counts as the operator's: the modules of its class and of the classes that it is made of."""

    def __init__(self, operator: Operator):
        bases = [one for one in type(innermost(operator)).__mro__ if issubclass(one, Operator) and one is not Operator]
        self.modules = {one.__module__ for one in bases}

    def line_raised(self, fault: BaseException) -> SourceLine | None:
        """The innermost line of the operator in what led to a fault, or to that which it was made of."""
        for one in _with_its_causes(fault):
            found = None
            traceback = one.__traceback__
            while traceback is not None:
                if self.owns(traceback.tb_frame):
                    found = line_of(traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_frame.f_globals)
                traceback = traceback.tb_next
            if found is not None:
                return found
        return None

    def owns(self, frame: FrameType) -> bool:
        """Whether a frame executes the operator's code."""
        return frame.f_globals.get("__name__") in self.modules


def collectors() -> frozenset[CodeType]:
    """The code of those who are called when garbage is collected: in the midst of whatever runs, on nobody's behalf."""
    return frozenset(code for one in gc.callbacks if isinstance(code := getattr(one, "__code__", None), CodeType))


def _with_its_causes(fault: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = fault
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def line_of(code: CodeType, line: int, module: dict[str, Any]) -> SourceLine:
    """A line of installed code, with its text where the file is there."""
    text = linecache.getline(code.co_filename, line, module).strip()
    return SourceLine(source_name(code.co_filename), line, code.co_qualname, printable(text, _SHOWN))


def source_name(path: str) -> str:
    """`shop/operators.py`: the file below the folder that it is imported from.

    Where a server has that folder says nothing of the code.
    """
    folders = (one.rstrip("/") for one in sys.path if one)
    above = max((one for one in folders if path.startswith(f"{one}/")), key=len, default=None)
    return PurePath(path).name if above is None else path[len(above) + 1 :]
