"""Real engines for the recorder's tests: their environment, librdkafka's test broker, jobs that are killed at work."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
JOBS = ROOT / "tests" / "clonoscope" / "jobs"
F_SETPIPE_SZ, PAGE_BYTES = 1031, 4096


@cache
def engines_python() -> str:
    """The Python that has the engines; made if it is not there, as `./test` does."""
    script = f'source "{ROOT}/scripts/environment.sh" && make_engines "{ROOT}"'
    subprocess.run(["bash", "-c", script], check=True, stdin=subprocess.DEVNULL)
    return str(ROOT / ".venv" / "engines" / "bin" / "python")


def needs(engine: str) -> None:
    """Leaves a test out where Python has no wheel of an engine."""
    script = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({engine!r}) is None)"
    if subprocess.run([engines_python(), "-c", script], check=False).returncode:
        pytest.skip(f"there is no {engine} for this version of Python")


def start(job: str, *arguments: Any, stdout: int = subprocess.PIPE, **variables: Any) -> "subprocess.Popen[str]":
    """A job in a process of its own, which says what it does on its output; a module of the engine, after `-m`."""
    return subprocess.Popen(
        [engines_python(), *(["-m", job[2:]] if job.startswith("-m") else [str(JOBS / job)]), *map(str, arguments)],
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
        | {name: str(value) for name, value in variables.items()},
        stdin=subprocess.PIPE,
        stdout=stdout,
        text=True,
        bufsize=1,
    )


def start_paced(job: str, *arguments: Any, **variables: Any) -> "subprocess.Popen[str]":
    """A job that gets a line ahead of who reads it and stops in the midst of the next: it can be killed right there.

    Its pipe keeps one packet, which is one write.
    """
    reading, writing = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
    fcntl.fcntl(writing, F_SETPIPE_SZ, PAGE_BYTES)
    process = start(job, *arguments, stdout=writing, **variables)
    os.close(writing)
    process.stdout = os.fdopen(reading, encoding="utf-8")
    return process


@dataclass(slots=True)
class Broker:
    """librdkafka's test broker: no Kafka server is to be had from the registries."""

    process: "subprocess.Popen[str]"
    address: str

    def read(self, topic: str, count: int) -> list[Any]:
        """So many messages of a topic: partition, offset, key, value."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print("read", topic, count, file=self.process.stdin, flush=True)
        return [json.loads(self.process.stdout.readline()) for _ in range(count)]

    def committed(self, group: str) -> int:
        """How many orders a consumer group is through with."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print("committed", group, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def dump(self, topic: str, path: Path) -> Path:
        """All of a topic in a file, as `kcat -J` writes it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print("dump", topic, path, file=self.process.stdin, flush=True)
        int(self.process.stdout.readline())
        return path


@contextlib.contextmanager
def broker(orders: int) -> Iterator[Broker]:
    """With so many orders in the topic `orders`."""
    process = start("broker.py", orders)
    assert process.stdout is not None
    try:
        yield Broker(process, process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def kill_after(process: "subprocess.Popen[str]", lines: int) -> list[Any]:
    """Kills it when it has said so much; gives all that it had said by its end."""
    assert process.stdout is not None
    said = [json.loads(process.stdout.readline()) for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.wait(timeout=120)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    # The last line may be cut.
    said += [json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    assert process.returncode == -signal.SIGKILL, "it came to its end before it could be killed"
    return said


def run_to_the_end(process: "subprocess.Popen[str]") -> list[Any]:
    """What it said."""
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return [json.loads(line) for line in out.splitlines()]
