"""Real time, real randomness and the environment: the only module of `replay` that touches them. For entry points."""

from __future__ import annotations

import _thread
import gc
import os
import random
import secrets
import socket
import time
import uuid
from datetime import UTC, datetime
from typing import Any


def recorded_at() -> str:
    """Now, as a manifest writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_seed() -> int:
    """A seed for a run that was given none."""
    return secrets.randbelow(1 << 31)


def elapsed_s() -> float:
    """Seconds since some moment of this process; only differences mean something."""
    return time.monotonic()


def collect_garbage_rarely() -> None:
    """For a process that does nothing but run a job: records live for one batch, and what stays has no circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def real_calls() -> list[tuple[str, str, Any]]:
    """(kind, name, function) of what answers differently another time or elsewhere, for those who watch operators.

    Clocks that are asked for a time of the caller's own (`time.localtime(s)`) are told apart by their arguments.
    """
    asked = {
        (
            "clock",
            time,
        ): "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns "
        "thread_time thread_time_ns clock_gettime clock_gettime_ns localtime gmtime ctime strftime asctime",
        ("random", os): "urandom getrandom",
        ("random", uuid): "uuid1 uuid4 getnode",
        ("random", secrets): "token_bytes token_hex token_urlsafe randbelow",
        ("environment", os): "getenv getenvb",
        ("files", os): "listdir scandir stat lstat access readlink getcwd getcwdb statvfs getxattr",
        ("machine", os): "getpid getppid cpu_count uname getloadavg times getlogin getuid sched_getaffinity",
        ("threads", _thread): "start_new_thread start_joinable_thread",
        ("network", socket): "gethostname getaddrinfo gethostbyname getfqdn",
    }
    found = [
        (kind, f"{module.__name__}.{name}", getattr(module, name))
        for (kind, module), names in asked.items()
        for name in names.split()
        if hasattr(module, name)
    ]
    # The dictionary of the environment is written in Python: what it is asked for goes through these.
    within = ("__getitem__", "__iter__", "__len__")
    return found + [("environment", "os.environ", getattr(type(os.environ), name)) for name in within]


def shared_random() -> random.Random:
    """The generator behind the functions of `random`, which everybody draws from."""
    return random.random.__self__  # type: ignore[attr-defined, no-any-return]


def system_random() -> type[random.Random]:
    """The generator that asks the system for every number."""
    return random.SystemRandom
