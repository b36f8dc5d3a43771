"""Sees which calls of an operator reach outside of what is logged: clocks, chance, environment, files, network."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, Literal

from replay.debugger.diverging.source_line import OperatorCode, SourceLine, collectors, line_of

Outside = Literal["clock", "random", "environment", "file", "network", "hash"]

_MOST_CALLS = 1000

_BUILT_IN: dict[tuple[str, str], Outside] = {
    **{
        ("time", name): "clock"
        for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time")
    },
    **{(module, "urandom"): "random" for module in ("posix", "nt", "os")},
    **{(module, "open"): "file" for module in ("io", "_io", "builtins", "posix", "nt")},
    **{("posix", name): "file" for name in ("listdir", "scandir", "stat", "lstat", "getcwd")},
    ("posix", "getpid"): "environment",
    ("builtins", "hash"): "hash",
    ("builtins", "id"): "hash",
}
_OF_CLASSES: dict[tuple[str, str], Outside] = {
    ("datetime", "now"): "clock",
    ("datetime", "utcnow"): "clock",
    ("datetime", "today"): "clock",
    ("date", "today"): "clock",
}
_IN_PYTHON: dict[tuple[str, str], Outside] = {
    ("os", "getenv"): "environment",
    ("os", "_Environ.__getitem__"): "environment",
    ("uuid", "uuid1"): "random",
    ("uuid", "uuid4"): "random",
}


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """What was called, and from which line of the operator."""

    kind: Outside
    called: str
    line: SourceLine

    def __str__(self) -> str:
        return f"{self.called}() in {self.line.file}:{self.line.line}"


@dataclass(slots=True)
class OutsideCalls(AbstractContextManager["OutsideCalls"]):
    """Follows the calls of this thread while it is entered; each line and callee is kept once, the latest last."""

    code: OperatorCode
    found: dict[tuple[str, str, int], OutsideCall] = field(default_factory=dict)
    _before: Callable[..., Any] | None = None

    def __enter__(self) -> OutsideCalls:
        self._before = sys.getprofile()
        sys.setprofile(self._follow)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        sys.setprofile(self._before)

    def _follow(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            kind, called = _built_in(arg)
        elif event == "call":
            key = str(frame.f_globals.get("__name__")), frame.f_code.co_qualname
            kind, called = _IN_PYTHON.get(key), f"{key[0]}.{key[1].replace('_Environ.__getitem__', 'environ')}"
        else:
            return
        if kind is not None:
            self._keep(kind, called, frame)

    def _keep(self, kind: Outside, called: str, frame: FrameType | None) -> None:
        # What the engine, or a library, does with identities and hashes on its own is no choice.
        collecting = collectors()
        while frame is not None and not self.code.owns(frame):
            if frame.f_code in collecting:
                return  # garbage was collected just then
            frame = None if kind == "hash" else frame.f_back
        if frame is None:
            return
        key = called, frame.f_code.co_filename, frame.f_lineno
        if key not in self.found and len(self.found) >= _MOST_CALLS:
            return
        self.found.pop(key, None)
        self.found[key] = OutsideCall(kind, called, line_of(frame.f_code, frame.f_lineno, frame.f_globals))

    def of(self, *kinds: Outside) -> list[OutsideCall]:
        """The calls of these kinds, the latest first."""
        return [one for one in reversed(self.found.values()) if one.kind in kinds]


def _built_in(called: Any) -> tuple[Outside | None, str]:
    name, owner = getattr(called, "__name__", ""), getattr(called, "__self__", None)
    if isinstance(owner, random.Random):
        return "random", f"random.{name}"
    if isinstance(owner, type):
        return _OF_CLASSES.get((owner.__name__, name)), f"{owner.__name__}.{name}"
    module = getattr(called, "__module__", None) or getattr(owner, "__name__", "")
    if type(owner).__module__ in ("_socket", "socket"):
        return "network", f"socket.{name}"
    said = {"posix": "os", "nt": "os", "_io": "io"}.get(str(module), str(module))
    return _BUILT_IN.get((str(module), name)), name if said == "builtins" else f"{said}.{name}"
