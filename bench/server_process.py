"""The real server as a process, and every process that belongs to its data folder: for benches and tests."""

from __future__ import annotations

import os
import queue
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")  # whatever is waited for
READY_WITHIN_S = 60.0
END_WITHIN_S = 30.0


class NotInTime(Exception):
    """What was waited for did not come; the sentence says what."""


def wait_until(condition: Callable[[], T], what: str, within_s: float, every_s: float = 0.05) -> T:
    """What the condition gives as soon as it gives anything."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise NotInTime(f"{what} did not happen within {within_s:g} s")
        time.sleep(every_s)
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


_OF_A_CLUSTER = {
    "master": "spark.deploy.master.Master",
    "machine": "spark.deploy.worker.Worker",
    "executor": "CoarseGrainedExecutorBackend",
}


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    command: str

    @property
    def kind(self) -> str:
        """What it is to the server, told by its command line."""
        for kind, name in _OF_A_CLUSTER.items():
            if name in self.command:
                return kind
        if "java" in Path(self.command.split(" ", 1)[0]).name or "SparkSubmit" in self.command:
            return "jvm"
        names = {"hunting.perturbed": "perturbed", "ingest.jobs.replay": "replay", "ingest.jobs.driver": "driver"}
        names |= {"ingest.jobs.audit": "audit", "celery": "worker", " up": "web"}
        kind = next((kind for name, kind in names.items() if name in self.command), "other")
        return "spare" if kind == "replay" and not self._is_at_work() else kind

    def _is_at_work(self) -> bool:
        """Of a replay's child: from its request on it listens for the alarm that bounds its time."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        caught = re.search(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)
        return caught is not None and bool(int(caught.group(1), 16) >> (signal.SIGALRM - 1) & 1)


def processes_of(data: Path) -> Iterator[Process]:
    """All processes that were started for this data folder, whoever their parent is by now."""
    mark = f"CLONOSCOPE_DATA={data}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if fields[0] not in "ZX":
            yield Process(int(entry.name), int(fields[1]), command)


class ServerProcess:
    """`manage.py up` on a data folder; everything it says is kept."""

    def __init__(
        self,
        data: Path,
        *options: str,
        environment: dict[str, str] | None = None,
        most_file_bytes: int = 0,
        makes_a_link: bool = True,
    ) -> None:
        """`most_file_bytes`: no file may grow past that. `makes_a_link` False waits for the address alone."""
        self.data = data
        self.most_file_bytes = most_file_bytes
        self.options = options
        self.environment = {**os.environ, "CLONOSCOPE_DATA": str(data), **(environment or {})}
        self.makes_a_link = makes_a_link and not ({"REDIS_URL", "DATABASE_URL"} & set(self.environment))
        self.address = ""
        self.link = ""
        self.said: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.process: subprocess.Popen[str] | None = None

    def begin(self) -> ServerProcess:
        command = [sys.executable, "manage.py", "up", "--data", str(self.data), *self.options]
        if "--port" not in self.options:
            command += ["--port", "0"]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=self._limit if self.most_file_bytes else None,  # noqa: PLW1509 - the child does nothing else
        )
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def start(self) -> ServerProcess:
        """Returns when it has said its address and, where it makes one, its login link."""
        self.begin()
        wait_until(self._is_ready, "the server's start", READY_WITHIN_S)
        return self

    def end(self, with_signal: int = signal.SIGTERM) -> int:
        """Its exit status; killed if it does not end."""
        if self.process is None:
            raise NotInTime("the server was not started")
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        try:
            return self.process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise NotInTime(f"the server did not end within {END_WITHIN_S:g} s of signal {with_signal}") from None

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def __enter__(self) -> ServerProcess:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def output(self) -> str:
        while not self._lines.empty():
            line = self._lines.get()
            if line is not None:
                self.said.append(line)
        return "".join(self.said)

    def _is_ready(self) -> bool:
        output = self.output
        address = re.search(r"^Clonoscope is at (\S+)$", output, re.MULTILINE)
        link = re.search(r"^\s+(http\S+/enter/#\S+)$", output, re.MULTILINE)
        if self.process is not None and self.process.poll() is not None:
            raise NotInTime(f"the server ended with status {self.process.poll()}:\n{output}")
        if address:
            self.address = address.group(1)
        if link:
            self.link = link.group(1)
        return bool(self.address and (self.link or not self.makes_a_link))

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_file_bytes, self.most_file_bytes))

    def _read(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            with self.process.stdout as said:
                for line in said:
                    self._lines.put(line)


def begin_command(data: Path, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments, "--data", str(data)],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def run_command(data: Path, *arguments: str, environment: dict[str, str] | None = None, within_s: float = 120) -> Ran:
    """A command of manage.py to its end."""
    with begin_command(data, *arguments, environment=environment) as process:
        try:
            out, err = process.communicate(timeout=within_s)
        finally:
            process.kill()
    return Ran(process.returncode, out, err)


@dataclass(frozen=True, slots=True)
class Ran:
    status: int
    out: str
    err: str
