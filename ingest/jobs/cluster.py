"""What differs where Spark's tasks run on the machines of a cluster: its settings, and that all run the same code."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from py4j.protocol import Py4JError

from ingest.errors import IngestError
from ingest.masters import address_towards

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
S = TypeVar("S")

CODE = ("ingest", "replay")
DEFAULTS = "spark-defaults.conf"
# No task sends rows through the JVM: what it needs is beside the heap, and YARN and Kubernetes must be told so.
HEAP_MIB = 512
BESIDE_HEAP_MIB = 2048


class OtherCodeError(IngestError):
    """A machine of the cluster has another version of the product: what it writes could differ without a word."""


def own_settings(master: str, given: Path | None) -> dict[str, str]:
    """What Spark is told of a cluster, without what the owner's own file of settings says."""
    settings = {
        "spark.executor.cores": "1",
        "spark.executor.memory": f"{HEAP_MIB}m",
        "spark.executor.memoryOverhead": f"{BESIDE_HEAP_MIB}m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:-UsePerfData -Xss4m",
        # Machines are taken as tasks wait for them and given back: else who comes first holds all of a cluster.
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.executorIdleTimeout": "60s",
    }
    address = os.environ.get("SPARK_LOCAL_IP") or address_towards(master)
    if address:
        os.environ["SPARK_LOCAL_IP"] = address
        settings |= {"spark.driver.host": address, "spark.driver.bindAddress": address}
    said = _names_in(given / DEFAULTS) if given is not None else set()
    return {name: value for name, value in settings.items() if name not in said}


def _names_in(path: Path) -> set[str]:
    """The settings that a file of Spark's names: `name value` or `name=value` on a line."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    found = (line.strip().replace("=", " ", 1).replace(":", " ", 1).split(None, 1) for line in lines)
    return {words[0] for words in found if words and not words[0].startswith("#")}


def is_stopped(context: SparkContext) -> bool:
    """Whether the application is over, and with it whatever this driver could still do."""
    try:
        return bool(context._jsc is None or context._jsc.sc().isStopped())
    except (Py4JError, OSError):  # with its JVM
        return True


@dataclass(frozen=True, slots=True)
class SameCode(Generic[T, S]):
    """Does what `run` does, where the code is that of the driver."""

    run: Callable[[T], S]
    digest: str

    def __call__(self, task: T) -> S:
        if code_digest() != self.digest:
            raise OtherCodeError(
                f"{socket.gethostname()} runs another version of the product than the driver; "
                "install the same on every machine of the cluster, then retry"
            )
        return self.run(task)


@cache
def code_digest() -> str:
    """Of the code that tasks run, looked up once in a process."""
    digest = hashlib.sha256()
    for package in CODE:
        found = importlib.util.find_spec(package)
        root = Path(found.origin).parent if found is not None and found.origin is not None else Path(package)
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
