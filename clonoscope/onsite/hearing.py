"""Listens to a job for calls that nothing covers: no service, no interception, no `external`."""

from __future__ import annotations

import json
import linecache
import os
import sysconfig
import threading  # noqa: F401 - threads are heard where their module is there when it begins
from collections.abc import Callable
from contextlib import ExitStack
from types import CodeType, FrameType
from typing import Any

from clonoscope import services
from clonoscope.unrecorded import UNRECORDED
from replay.debugger.hunting.hearing import Heard, Hearing, Role

_OURS = ("clonoscope", "replay")
# What runs within these is a call outside, whose answer is recorded.
_COVERING = ("make", "call_async")
_TEXT_SHOWN = 200
_DETAIL_SHOWN = 200
_NOT_A_JOBS = tuple(
    os.path.realpath(path) + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
Note = Callable[[dict[str, Any]], None]


class JobHearing(Hearing):
    """The job's code is all that is installed nowhere: what lies outside of the standard library and site-packages."""

    def __init__(self, note: Note):
        super().__init__(frozenset, self._hear)
        self._note = note
        self._counts: dict[tuple[str, ...], int] = {}

    def _role_of(self, code: CodeType, module: str) -> Role:
        if module.partition(".")[0] in _OURS:
            return "engine"
        if _is_jobs(code.co_filename):
            return "operator"
        return super()._role_of(code, module)

    def _hear(self, heard: Heard) -> None:
        """Told of when it is heard first, and then whenever it was heard twice as often."""
        if _is_covered(heard.frame):
            return
        within = "task" if services.current.get() is not UNRECORDED else "outside"
        code = heard.frame.f_code
        key = (heard.call.kind, heard.call.name, code.co_filename, str(heard.line), within)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count & (count - 1):
            return
        text = linecache.getline(code.co_filename, heard.line, heard.frame.f_globals).strip()
        self._note(
            {
                "kind": heard.call.kind,
                "call": heard.call.name,
                "file": code.co_filename,
                "line": heard.line,
                "function": code.co_qualname,
                "text": text[:_TEXT_SHOWN],
                "through": heard.through,
                "detail": heard.detail[:_DETAIL_SHOWN],
                "within": within,
                "count": count,
            }
        )


def _is_jobs(file: str) -> bool:
    return not file.startswith("<") and not os.path.realpath(file).startswith(_NOT_A_JOBS)


def _is_covered(frame: FrameType | None) -> bool:
    """Whether it stands within a call outside."""
    while frame is not None:
        if frame.f_code.co_name in _COVERING and str(frame.f_globals.get("__name__")).startswith("clonoscope."):
            return True
        frame = frame.f_back
    return False


_listening = ExitStack()


def begin(path: str) -> None:
    """From here on, in this process and in what is forked from it; a line is appended for whatever is found."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def note(found: dict[str, Any]) -> None:
        # One write is one line, whoever else writes.
        os.write(handle, json.dumps({"process": os.getpid(), **found}).encode() + b"\n")

    _listening.enter_context(JobHearing(note).listening())
