"""Call sites: where in the job's source a recorded call stands. Numbers count over the process."""

from __future__ import annotations

import linecache
import os
import threading
from dataclasses import dataclass
from types import CodeType, FrameType

_TEXT_SHOWN = 200
_lock = threading.Lock()
_numbers: dict[tuple[CodeType, int], int] = {}
_sites: list[Site] = []


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the source."""

    number: int
    file: str
    line: int
    function: str
    text: str

    @property
    def place(self) -> str:
        """As a person writes it."""
        return f"{self.file}:{self.line} ({self.function})"

    def to_json(self) -> dict[str, object]:
        """As a line of `sites.ndjson`."""
        return {
            "site": self.number,
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "text": self.text,
        }


def site_at(frame: FrameType) -> Site:
    """The site that a frame is at; the same for the same instruction of the same code."""
    key = (frame.f_code, frame.f_lasti)
    number = _numbers.get(key)
    if number is None:
        file, line = frame.f_code.co_filename, frame.f_lineno or 0
        text = linecache.getline(file, line, frame.f_globals).strip()[:_TEXT_SHOWN]
        with _lock:
            number = _numbers.get(key)
            if number is None:
                number = len(_sites)
                _sites.append(Site(number, file, line, frame.f_code.co_qualname, text))
                # Last, as others look for it without the lock.
                _numbers[key] = number
    return _sites[number]


def _new_lock() -> None:
    """Another thread of the parent may have had it when a child was forked."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
