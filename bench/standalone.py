"""A cluster of Spark's own kind on loopback: a master and workers as processes, any of which can be killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.process_tree import tree
from bench.server_process import free_port, wait_until
from ingest.java import find_java, java_home

READY_WITHIN_S = 60.0
DEPLOY = "org.apache.spark.deploy"


class Standalone:
    """Workers have one core each, and memory for one executor as the product asks for it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port, self._page = free_port(), free_port()
        self.environment = {**os.environ, **_own_environment(folder), **(environment or {})}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def master(self) -> str:
        """As SPARK_MASTER has it."""
        return f"spark://127.0.0.1:{self.port}"

    def start(self, workers: int = 2) -> None:
        here = ["--host", "127.0.0.1"]
        self._start("master", "master.Master", *here, "--port", str(self.port), "--webui-port", str(self._page))
        wait_until(lambda: self._told() is not None, "the master's start", READY_WITHIN_S)
        for number in range(workers):
            self._start_worker(f"worker-{number}")
        wait_until(lambda: len(self.workers()) == workers, "the workers' start", READY_WITHIN_S)

    def mend(self) -> None:
        """Starts again what has ended; returns at once."""
        for name, process in list(self.processes.items()):
            if name != "master" and process.poll() is not None:
                self._start_worker(name)

    def _start_worker(self, name: str) -> None:
        own = ["--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(self.folder / name)]
        self._start(name, "worker.Worker", *own, "--cores", "1", "--memory", "1g", self.master)

    def workers(self) -> list[dict[str, Any]]:
        """Those that the master counts on."""
        return [one for one in (self._told() or {}).get("workers", ()) if one["state"] == "ALIVE"]

    def kill(self, name: str) -> None:
        """With its executors and their tasks, as where a machine is lost."""
        process = self.processes.pop(name)
        for pid in reversed(tree(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()

    def below(self, name: str) -> list[int]:
        """Executors of a worker, their daemons and tasks."""
        return tree(self.processes[name].pid)[1:]

    def end(self) -> None:
        for name in sorted(self.processes, reverse=True):
            self.kill(name)

    def _start(self, name: str, what: str, *arguments: str) -> None:
        spark = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [spark / "bin" / "spark-class", f"{DEPLOY}.{what}", *arguments],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _told(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
                told: dict[str, Any] = json.load(answer)
                return told
        except (OSError, ValueError):  # it answers before it is ready
            return None


def _own_environment(folder: Path) -> dict[str, str]:
    return {
        "JAVA_HOME": str(java_home(find_java(), folder)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
    }


@contextmanager
def standalone(workers: int = 2, environment: Mapping[str, str] | None = None) -> Iterator[Standalone]:
    folder = Path(tempfile.mkdtemp(prefix="clonoscope-cluster-"))
    cluster = Standalone(folder, environment)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.end()
        shutil.rmtree(folder, ignore_errors=True)
