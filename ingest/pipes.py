"""JSON lines over the pipes of a child process, as seen from the parent. Standard library only."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
MAX_LINE_BYTES = 16 << 20


class ChildGone(Exception):
    """The child closed its end: it has ended, or is about to."""


class Child:
    """A child process in its own process group that reads commands and answers in JSON lines.

    The child ends itself when its standard input closes, so it never outlives its parent.
    """

    def __init__(self, arguments: Sequence[str], *, log_path: Path, environment: Mapping[str, str], folder: Path):
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with open(log_path, "ab") as log:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
            )
        self._pending = bytearray()
        self._reading = threading.Lock()
        self._selector = selectors.DefaultSelector()
        if self.process.stdout is None:
            raise ChildGone("the child has no pipe")
        self._out = self.process.stdout.fileno()
        self._selector.register(self._out, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def cpu_s(self) -> float:
        """What it has used so far, as long as nobody has asked how it ended."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def send(self, message: Mapping[str, Any]) -> None:
        pipe = self.process.stdin
        if pipe is None:
            raise ChildGone("the child has no pipe")
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except (BrokenPipeError, ValueError) as gone:
            raise ChildGone("the child reads no more") from gone

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """The next message; None when none came in time."""
        while True:
            line, separator, rest = self._pending.partition(b"\n")
            if separator:
                self._pending = rest
                return _message(bytes(line))
            with self._reading:
                if self._out < 0:
                    raise ChildGone("the child was ended")
                if not self._selector.select(timeout_s):
                    return None
                chunk = os.read(self._out, 1 << 16)
            if not chunk or len(self._pending) > MAX_LINE_BYTES:
                raise ChildGone("the child closed its pipe")
            self._pending += chunk

    def end(self, patience_s: float) -> int:
        """Closes its input, which ends it; kills its whole group if that takes too long. Returns its exit status."""
        _close(self.process.stdin)
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            pass
        return self.kill()

    def kill(self) -> int:
        """Ends the child and all that it started in its group, at once."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # nobody of the group is left
        status = self.process.wait()
        with self._reading:  # another thread may be waiting for an answer: it must not read a reused descriptor
            self._selector.close()
            self._out = -1
            for pipe in (self.process.stdin, self.process.stdout):
                _close(pipe)
        return status


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        pass  # what was left to be written has no reader any more


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as fault:
        raise ChildGone(f"the child wrote something else than JSON: {line[:200]!r}") from fault
    if not isinstance(message, dict):
        raise ChildGone(f"the child wrote something else than an object: {line[:200]!r}")
    return message


def child_environment(**more: str) -> dict[str, str]:
    """The parent's environment without what concerns only the parent, and the project on the Python path."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_THE_PARENT}
    paths = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    return environment | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"} | more


_OF_THE_PARENT = frozenset(
    ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
)


def ending(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"
