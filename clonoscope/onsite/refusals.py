"""Closes the network to this process, and the way to others, while a job's function is replayed; hears of its files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from clonoscope.errors import Refused
from clonoscope.onsite.beside import Beside, jobs_frame

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
_refusing: list[tuple[Refuse, Beside]] = []
_hooked: list[bool] = []


@contextmanager
def closed(refuse: Refuse, beside: Beside) -> Iterator[None]:
    """For all threads of the process, as long as this lasts; `refuse` makes what is raised."""
    if not _hooked:
        # An audit hook stays until the process ends: it does nothing where nobody refuses.
        _hooked.append(True)
        sys.addaudithook(_heard)
    _refusing.append((refuse, beside))
    try:
        yield
    finally:
        _refusing.remove((refuse, beside))


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
    if not _refusing:
        return
    refuse, beside = _refusing[-1]
    if event in _REFUSED:
        at = 1 if event in _NAMES_SECOND else 0
        named = f" {arguments[at]!r}"[:_SHOWN] if len(arguments) > at else ""
        raise refuse(f"{_REFUSED[event]}{named}", jobs_frame(sys._getframe(1)))
    beside.hear(event, arguments)
