"""Who holds a lease, told so precisely that another process of the machine can tell whether it still lives."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def this_process() -> str:
    # Asked by pid: after a fork a cached answer would be the parent's.
    return _identity(os.getpid())


def is_dead(owner: str) -> bool:
    """True only if surely dead: a process of this machine that is gone. Of other machines we know nothing."""
    host, boot, namespace, pid, start = [*owner.split("/"), "", "", "", "", ""][:5]
    here = _machine()
    if host != here[0] or not pid.isdigit():
        return False
    if boot != here[1]:
        return True
    # Another container's processes can't be seen from here.
    return namespace == here[2] and _start_of(int(pid)) != start


@cache
def _identity(pid: int) -> str:
    return "/".join((*_machine(), str(pid), _start_of(pid)))


@cache
def _machine() -> tuple[str, str, str]:
    return socket.gethostname(), BOOT_ID.read_text().strip(), os.readlink("/proc/self/ns/pid").strip("pid:[]")


def _start_of(pid: int) -> str:
    """The start time of a process, so that a reused pid is not taken for it; empty if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
