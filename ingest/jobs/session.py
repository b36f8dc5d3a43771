"""The warm Spark session, with every setting that matters said out loud, and its scratch folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pyspark import SparkConf, SparkContext

from ingest.jobs.cluster import own_settings
from ingest.masters import is_cluster

ROOT = Path(__file__).resolve().parents[2]
TASK_TRIES = 4


@dataclass(frozen=True, slots=True)
class SessionOptions:
    data: Path
    heap_mib: int = 1024
    cores: int | None = None
    master: str | None = None
    ui_port: int | None = None
    conf_folder: Path | None = None
    """Of a cluster: settings of Spark's own, which its owner gives."""


class Scratch:
    """A folder for Spark's temporary files, locked while its driver lives; those of dead drivers are removed."""

    def __init__(self, data: Path) -> None:
        self.root = data / "spark" / "scratch"
        self.root.mkdir(parents=True, exist_ok=True)
        self._sweep()
        self.folder = self.root / f"driver-{os.getpid()}"
        self.folder.mkdir(exist_ok=True)
        self._lock = _locked(self.folder)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _sweep(self) -> None:
        for folder in self.root.glob("driver-*"):
            lock = _locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                lock.close()


def _locked(folder: Path) -> IO[bytes] | None:
    """The lock of a scratch folder, unless a living driver holds it."""
    try:
        lock = open(folder / "lock", "wb")  # noqa: SIM115  held until the process ends
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def start_session(options: SessionOptions, scratch: Path) -> SparkContext:
    """One Spark context for the life of the process."""
    os.environ["SPARK_LOCAL_DIRS"] = str(scratch)
    if not is_cluster(options.master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_CONF_DIR"] = str(_conf_folder(options, scratch))
    context = SparkContext(conf=_conf(options, scratch))
    context.setLogLevel("WARN")
    return context


def _conf(options: SessionOptions, scratch: Path) -> SparkConf:
    conf = SparkConf(loadDefaults=False)
    cores = options.cores or os.cpu_count() or 1
    settings = {
        "spark.master": options.master or f"local[{cores},{TASK_TRIES}]",
        "spark.app.name": "clonoscope",
        "spark.driver.memory": f"{options.heap_mib}m",
        "spark.driver.extraJavaOptions": _java_options(scratch),
        "spark.ui.enabled": "false" if options.ui_port is None else "true",
        "spark.ui.port": str(options.ui_port or 0),
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.eventLog.enabled": "false",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "ingest.jobs.worker_daemon",
        "spark.python.task.killTimeout": "100ms",
        "spark.pyspark.python": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "spark.pyspark.driver.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.task.maxFailures": str(TASK_TRIES),
        "spark.locality.wait": "0s",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    }
    if options.master is not None and is_cluster(options.master):
        settings |= own_settings(options.master, options.conf_folder)
    else:
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    for name, value in settings.items():
        conf.set(name, value)
    return conf


def _java_options(scratch: Path) -> str:
    """A small process beside others: the serial collector, the quick compiler, no files in /tmp."""
    # Quoted: Spark splits this text like a shell, and a data folder's name may have spaces.
    return f'"-Djava.io.tmpdir={scratch}" -XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1 -Xss4m'


def _conf_folder(options: SessionOptions, scratch: Path) -> Path:
    """Only warnings are logged, to standard error, which is the driver's log. The owner of a cluster may say more."""
    if is_cluster(options.master) and options.conf_folder is not None:
        return options.conf_folder
    folder = scratch / "conf"
    folder.mkdir(exist_ok=True)
    (folder / "log4j2.properties").write_text(_LOG4J)
    return folder


_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""
