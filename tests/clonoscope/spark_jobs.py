"""Starts real Spark jobs, each in a session of its own, and kills them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from ingest.java import find_java, java_home
from tests.clonoscope.engines import ROOT

# A session of seconds is over before thorough compiling and a collector of several threads pay.
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1 -Xss4m"


class SparkJob:
    """A driver with its JVM; its workers end with it."""

    def __init__(self, script: Path, *arguments: object, logs: Path):
        self.log = open(logs / f"{script.stem}.log", "ab")  # noqa: SIM115 - closed by wait
        surroundings = os.environ | {
            "JAVA_HOME": str(java_home(find_java(), logs)),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_SUBMIT_ARGS": f'--driver-java-options "{JAVA_OPTIONS}" pyspark-shell',
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self.process = subprocess.Popen(
            [sys.executable, script, *map(str, arguments)],
            cwd=ROOT,
            env=surroundings,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def kill(self) -> None:
        """The driver: Python and JVM at once, without a word."""
        os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self) -> int:
        try:
            status = self.process.wait(600)
        finally:
            if self.process.poll() is None:
                self.kill()
                self.process.wait()
            self.log.close()
        return status

    def succeed(self) -> None:
        status = self.wait()
        assert status == 0, Path(self.log.name).read_text(errors="replace")[-6000:]
