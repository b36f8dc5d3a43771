"""The system that is killed: the embedded server, that with a cluster for its ingests, or a web process with a worker
of its own and Redis between them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.server_process import ROOT, NotInTime, ServerProcess, free_port, processes_of, wait_until
from bench.standalone import Standalone, standalone


class System:
    def __init__(self, data: Path, environment: dict[str, str] | None = None) -> None:
        self.data = data
        # Short terms, and audits of small jobs alone, so that a bench of many kills does not mostly wait.
        own = {"CLONOSCOPE_SWEEP_S": "2", "CLONOSCOPE_AUDIT_UNASKED_BYTES": str(2 << 20)}
        self.environment = {**own, "CLONOSCOPE_DATA": str(data), **(environment or {})}
        self.server = ServerProcess(data, "--no-demo", environment=self.environment)
        self.worker: subprocess.Popen[bytes] | None = None
        self.cluster: Standalone | None = None

    def ensure_running(self) -> None:
        if self.cluster is not None:
            self.cluster.mend()
        if self.server.process is None or self.server.process.poll() is not None:
            self.server = ServerProcess(self.data, "--no-demo", environment=self.environment).start()
        if "REDIS_URL" in self.environment and (self.worker is None or self.worker.poll() is not None):
            self.worker = self._start_worker()

    def await_end(self, pid: int) -> None:
        """Of a killed process; of those started here, until the kernel hands out their status: only then have all
        their threads ended."""
        machines = self.cluster.processes.values() if self.cluster is not None else ()
        for own in (self.server.process, self.worker, *machines):
            if own is not None and own.pid == pid:
                own.wait(10)
        wait_until(lambda: all(one.pid != pid for one in processes_of(self.data)), "a killed process's end", 10)

    def end(self) -> None:
        if self.worker is not None and self.worker.poll() is None:
            self.worker.terminate()
            self.worker.wait(30)
        if self.server.process is not None:
            self.server.end()
        if self.cluster is not None:
            self.cluster.end()
        wait_until(lambda: not list(processes_of(self.data)), "the end of all processes", 20)

    def _start_worker(self) -> subprocess.Popen[bytes]:
        log_path = self.data / "logs" / "worker.log"
        with open(log_path, "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "dashboard", "worker", "--loglevel", "WARNING"],
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )


@contextmanager
def embedded(data: Path) -> Iterator[System]:
    system = System(data)
    try:
        yield system
    finally:
        system.end()


@contextmanager
def with_redis(data: Path) -> Iterator[System]:
    binary = shutil.which("redis-server")
    if binary is None:
        raise NotInTime("redis-server is not installed; ./test installs it")
    data.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(data)]
    redis = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    settings = {
        "REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "SECRET_KEY": "only-for-this-bench-" * 4,
        "CLONOSCOPE_TLS": "0",
    }
    system = System(data, settings)
    try:
        yield system
    finally:
        system.end()
        redis.terminate()
        redis.wait(10)


@contextmanager
def on_a_cluster(data: Path) -> Iterator[System]:
    """The embedded server with ingests on a cluster of two machines."""
    data.mkdir(parents=True, exist_ok=True)
    with standalone(environment={"CLONOSCOPE_DATA": str(data)}) as cluster:
        folders = {"STORE_URI": str(data / "store"), "LAKE_URI": str(data)}
        system = System(data, {"SPARK_MASTER": cluster.master, **folders})
        system.cluster = cluster
        try:
            yield system
        finally:
            system.end()
