"""Closes the network to this process, and the way to others, while a job's function is replayed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from clonoscope.errors import Refused

_REFUSED = {
    "socket.connect": "a connection to",
    "socket.bind": "to listen at",
    "socket.sendto": "to send to",
    "socket.sendmsg": "to send to",
    "socket.getaddrinfo": "the address of",
    "socket.gethostbyname": "the address of",
    "socket.gethostbyaddr": "the name of",
    "subprocess.Popen": "another process,",
    "os.system": "another process,",
    "os.exec": "another program,",
    "os.posix_spawn": "another process,",
    "os.fork": "another process",
    "os.forkpty": "another process",
}
"""Events of the interpreter, and what they ask for."""
_NAMES_SECOND = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")
_SHOWN = 100

Refuse = Callable[[str, FrameType], Refused]
_refusing: list[Refuse] = []
_hooked: list[bool] = []


@contextmanager
def closed(refuse: Refuse) -> Iterator[None]:
    """For all threads of the process, as long as this lasts; `refuse` makes what is raised."""
    if not _hooked:
        # An audit hook stays until the process ends: it does nothing where nobody refuses.
        _hooked.append(True)
        sys.addaudithook(_heard)
    _refusing.append(refuse)
    try:
        yield
    finally:
        _refusing.remove(refuse)


@contextmanager
def opened() -> Iterator[None]:
    """Within `closed`, for what is no part of the job: a person at the debugger, a reader of records."""
    before = list(_refusing)
    _refusing.clear()
    try:
        yield
    finally:
        _refusing[:] = before


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _refusing and event in _REFUSED:
        at = 1 if event in _NAMES_SECOND else 0
        named = f" {arguments[at]!r}"[:_SHOWN] if len(arguments) > at else ""
        raise _refusing[-1](f"{_REFUSED[event]}{named}", _jobs_frame(sys._getframe(1)))


def _jobs_frame(frame: FrameType) -> FrameType:
    """The nearest frame outside of the standard library: the job's line, or that of a library which it uses."""
    at: FrameType | None = frame
    while at is not None:
        if str(at.f_globals.get("__name__", "")).partition(".")[0] not in sys.stdlib_module_names:
            return at
        at = at.f_back
    return frame
