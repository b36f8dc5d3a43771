"""What a replayed function does to files past `external`: it is done again here, and nothing of it can be compared."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

_DONE = {
    "os.remove": "removes",
    "os.rename": "renames",
    "os.mkdir": "makes the folder",
    "os.rmdir": "removes the folder",
    "os.truncate": "cuts off",
    "os.link": "links",
    "os.symlink": "links",
    "sqlite3.connect": "opens the database",
}
"""Events of the interpreter, and what they do with their first argument."""
_WRITING = os.O_WRONLY | os.O_RDWR
_OURS = ("clonoscope", "replay", "ingest")
_KEPT = 20
_SHOWN = 100


class Beside:
    """Of one replay: each place once, in the order in which they were come to."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int, str], str] = {}

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Of all that happens in the process, what the job does itself."""
        done = _done(event, arguments)
        # To look at a frame is an event as well.
        if done is None or len(self.found) >= _KEPT or _imports(frame := sys._getframe(2)):
            return
        at = jobs_frame(frame)
        if str(at.f_globals.get("__name__", "")).partition(".")[0] not in _OURS:
            self.found.setdefault((at.f_code.co_filename, at.f_lineno, done), f"{done} {arguments[0]!r}"[:_SHOWN])

    def told(self) -> list[str]:
        """In words, with the line of each."""
        return [f"{what} ({os.path.basename(file)}:{line})" for (file, line, _), what in self.found.items()]


def jobs_frame(frame: FrameType) -> FrameType:
    """The nearest frame outside of the standard library: the job's line, or that of a library which it uses."""
    at: FrameType | None = frame
    while at is not None:
        if str(at.f_globals.get("__name__", "")).partition(".")[0] not in sys.stdlib_module_names:
            return at
        at = at.f_back
    return frame


def _done(event: str, arguments: tuple[Any, ...]) -> str | None:
    if event != "open":
        return _DONE.get(event)
    path, _, flags = arguments
    written = isinstance(flags, int) and flags & _WRITING and not isinstance(path, int) and path != os.devnull
    return "writes to" if written else None


def _imports(frame: FrameType) -> bool:
    """A module's bytecode is kept by whoever imports it first, on behalf of nobody."""
    return frame.f_code.co_filename.startswith("<frozen importlib")
