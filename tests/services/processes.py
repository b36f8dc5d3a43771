"""What starting any service needs: a free port, a folder its user may write, a wait with a deadline, an end."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

START_S = 30.0
STOP_S = 10.0


class ServiceMissing(Exception):
    """The program of a service is not installed."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def unprivileged_user() -> str | None:
    """Who a service runs as that refuses root; None keeps the present user."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return None


@contextmanager
def service_folder(name: str, user: str | None) -> Iterator[Path]:
    """Below the system's temporary folder and not pytest's, which other users may not enter; short, for sockets."""
    folder = Path(tempfile.mkdtemp(prefix=f"clonoscope-{name}-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(ready: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not ready():
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with status {process.returncode}:\n{log.read_text()}")
        if time.monotonic() > deadline:
            stop(process)
            raise RuntimeError(f"{process.args!r} was not ready within {START_S:.0f} s:\n{log.read_text()}")
        time.sleep(0.02)


def stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_S)
