"""Keeps code that a child executes away from other processes, and bounds what it prints into the log.

A guard against mistakes, and no prison: an installed operator is its owner's code, and runs as the server's user.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

MOST_PRINTED = 1 << 20
"""Characters that may be printed to standard output and error together."""
_FORKS = ("os.fork", "os.forkpty")


def confine() -> None:
    """For the rest of the process: no copies of it that would write into the same files, no signals to others."""
    sys.addaudithook(_refuse)
    bound = _Bound(MOST_PRINTED)
    sys.stdout, sys.stderr = _Printing(sys.stdout, bound), _Printing(sys.stderr, bound)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _FORKS:
        raise PermissionError(errno.EPERM, "a replay's process may not be forked; start another program instead")
    if event in ("os.kill", "os.killpg") and not _is_own(int(arguments[0])):
        raise PermissionError(errno.EPERM, "a replay may send signals only to itself and to programs that it started")


def _is_own(pid: int) -> bool:
    """Whether a process is this one, or was started by it; who is gone already can't be harmed."""
    if pid == os.getpid():
        return True
    if pid <= 1:
        return False  # everybody
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[1]) == os.getpid()
    except OSError:
        return True


class _Bound:
    def __init__(self, left: int):
        self.left = left


class _Printing(io.TextIOBase):
    """As the stream, until too much was printed; the stream itself stays for the log."""

    def __init__(self, stream: TextIO, bound: _Bound):
        self._stream = stream
        self._bound = bound

    def write(self, text: str) -> int:
        if self._bound.left > 0:
            self._stream.write(text[: self._bound.left])
            self._bound.left -= len(text)
            if self._bound.left <= 0:
                self._stream.write(f"\n[{MOST_PRINTED:,} characters were printed; what follows is left out]\n")
                self._stream.flush()  # a child may be ended before it does so by itself
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True
