"""Sets a replay child's limits, and tells how one of them ended the replay, and where in an operator."""

from __future__ import annotations

import errno
import resource
import signal
import sys
from collections.abc import Callable
from types import TracebackType

from ingest.replay_limits import CPU, FILE, MEMORY, OPEN_FILES, TIME, ReplayLimits
from replay.debugger.diverging.source_line import source_name

MAPPED_BYTES = 4 << 30
"""Mapped files count into the address space, so what bounds memory is the data limit; this much is on top of it."""
RESERVE_BYTES = 128 << 20
"""What may be used beyond the limit of memory, to write down what is known when it is reached."""
GRACE_S = 5
SIGNALS_TAKEN = 3
_OF_ERRNO = {errno.EFBIG: FILE, errno.EMFILE: OPEN_FILES}


class LimitReached(BaseException):
    """Past whatever an operator catches: its replay is over."""

    def __init__(self, which: str):
        super().__init__(which)
        self.which = which


def limit_resources(limits: ReplayLimits, give_up: Callable[[str], None]) -> None:
    """Time ends the replay by `LimitReached`; where an operator swallows even that, `give_up` has the last word."""
    _lower(resource.RLIMIT_AS, limits.memory_bytes + MAPPED_BYTES, spare=RESERVE_BYTES)
    _lower(resource.RLIMIT_DATA, limits.memory_bytes, spare=RESERVE_BYTES)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files, spare=16)
    _lower(resource.RLIMIT_CORE, 0)
    taken = dict.fromkeys((CPU, TIME), 0)

    def on_signal(which: str) -> None:
        taken[which] += 1
        if taken[which] > SIGNALS_TAKEN:
            give_up(which)
        raise LimitReached(which)

    signal.signal(signal.SIGXCPU, lambda *_: on_signal(CPU))
    signal.signal(signal.SIGALRM, lambda *_: on_signal(TIME))
    _lower(resource.RLIMIT_CPU, limits.cpu_s, spare=GRACE_S)
    # Again every second, as the kernel sends SIGXCPU.
    signal.setitimer(signal.ITIMER_REAL, limits.wall_s, 1.0)


def _lower(which: int, wanted: int, *, spare: int = 0) -> None:
    """Never raises a limit that is lower already. What is spare lies between the soft limit and the hard one."""
    soft, hard = resource.getrlimit(which)
    hardest = min(_known(hard, wanted + spare))
    resource.setrlimit(which, (min(_known(soft, wanted, hardest)), hardest))


def _known(*bounds: int) -> list[int]:
    return [bound for bound in bounds if bound != resource.RLIM_INFINITY]


def use_reserve() -> None:
    """For the last words: no signal comes between them, and a little more may be used."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (hard, hard))


def limit_behind(fault: BaseException | None) -> str | None:
    """Which limit an exception, or one that it came from, tells of; None where it tells of none."""
    while fault is not None:
        if isinstance(fault, LimitReached):
            return fault.which
        if isinstance(fault, MemoryError):
            return MEMORY
        if isinstance(fault, OSError) and fault.errno in _OF_ERRNO:
            return _OF_ERRNO[fault.errno]
        fault = fault.__cause__ or fault.__context__
    return None


def operators_line(traceback: TracebackType | None) -> str:
    """Where an installed operator was at, in words; empty where it was not at work."""
    found = ""
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if module == __name__:
            break
        if package in _OURS:
            found = ""
        elif package not in sys.stdlib_module_names:
            found = f", in {source_name(traceback.tb_frame.f_code.co_filename)}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


_OURS = frozenset(("replay", "ingest", "pyarrow", "duckdb"))
