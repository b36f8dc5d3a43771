"""The warm Spark driver: a child that takes ingest requests from its parent, one at a time, until the pipe closes."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestFailed
from ingest.jobs.lifeline import Answers, Lifeline, log_to_standard_error
from ingest.masters import is_cluster

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger("ingest.driver")
LOOK_S = 1.0


@dataclass(slots=True)
class Driver:
    """Requests waiting, and the one that runs."""

    answers: Answers
    end: Callable[[], None]
    waiting: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)
    stops: dict[int, threading.Event] = field(default_factory=dict)

    def on_command(self, command: dict[str, Any]) -> None:
        """Runs in the lifeline's thread."""
        if "ingest" in command:
            self.stops[command["ingest"]] = threading.Event()
            self.waiting.put(command)
        elif "cancel" in command:
            self._cancel(command["cancel"])

    def _cancel(self, number: int) -> None:
        stop = self.stops.get(number)
        if stop is not None:
            stop.set()

    def serve(self, context: SparkContext) -> None:
        """Never returns: the end of the pipe ends the process."""
        while True:
            request = self.waiting.get()
            number = request["ingest"]
            try:
                self._answer(context, number, request)
            finally:
                self.stops.pop(number, None)

    def _answer(self, context: SparkContext, number: int, request: dict[str, Any]) -> None:
        from ingest.jobs.ingest import Ingest, JvmGone, Stopped
        from ingest.lake.places import place_of

        def tell(progress: dict[str, Any]) -> None:
            self.answers.send(of=number, progress=progress)

        log.info("ingest of %s begins: %s", request["job"], request["pack"])
        ingest = Ingest(
            request["job"], request["pack"], place_of(request["staging"]), _group(number), tell, self.stops[number],
            request["growing"], Path(request["before"]) if request["before"] else None,
        )  # fmt: skip
        try:
            result = ingest.run(context)
        except Stopped:
            log.info("ingest of %s was cancelled", request["job"])
            self.answers.send(of=number, cancelled=True)
        except IngestFailed as failed:
            log.exception("ingest of %s failed", request["job"])
            self.answers.send(of=number, failed=str(failed))
        except JvmGone:
            log.exception("ingest of %s ends with the JVM", request["job"])
            self.end()
        except Exception as fault:
            log.exception("ingest of %s failed unexpectedly", request["job"])
            self.answers.send(of=number, failed=f"the ingest failed: {type(fault).__name__}: {fault}. See its log.")
        else:
            log.info("ingest of %s is ready to be published", request["job"])
            self.answers.send(of=number, result=result)


def _group(number: int) -> str:
    return f"ingest-{number}"


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    answers = Answers(_open_log(Path(options.log)))
    log_to_standard_error()
    scratch_folder: list[Path] = []
    driver = Driver(answers, lambda: _end(scratch_folder))
    lifeline = Lifeline(driver.on_command, driver.end)
    lifeline.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it closes the pipe
    signal.signal(signal.SIGTERM, lambda *_: driver.end())
    from ingest.jobs.session import Scratch, SessionOptions, start_session

    scratch = Scratch(Path(options.data))
    scratch_folder.append(scratch.folder)
    conf_folder = os.environ.get("SPARK_CONF_DIR")
    session = SessionOptions(
        Path(options.data), options.heap_mib, options.cores or None, os.environ.get("SPARK_MASTER") or None,
        int(os.environ["SPARK_UI_PORT"]) if os.environ.get("SPARK_UI_PORT") else None,
        Path(conf_folder) if conf_folder else None,
    )  # fmt: skip
    threading.Thread(target=_import_ahead, daemon=True).start()
    try:
        context = start_session(session, scratch.folder)
        _end_with_jvm(context, driver.end)
        if is_cluster(session.master):
            _end_with_context(context, driver.end)
        _warm_up(context)
    except Exception:
        # At once: an interpreter that winds down while another thread still imports may never come to its end.
        log.exception("Spark did not start")
        driver.end()
        raise
    log.info("ready")
    answers.send(of=0, ready=True)
    driver.serve(context)


def _import_ahead() -> None:
    """Half a second of imports, and as much of compiled code, while the JVM starts on another core."""
    importlib.import_module("ingest.jobs.memory").give_back_what_is_freed()
    importlib.import_module("ingest.jobs.ingest")
    importlib.import_module("ingest.transforms.growth.kernels").warm_up()


def _end_with_jvm(context: SparkContext, end: Callable[[], None]) -> None:
    """Without its JVM this process is of no use: the parent must see that it died, and start another."""
    jvm: subprocess.Popen[bytes] = context._gateway.proc  # type: ignore[union-attr]

    def watch() -> None:
        log.error("the JVM ended with status %s", jvm.wait())
        end()

    threading.Thread(target=watch, name="jvm", daemon=True).start()


def _end_with_context(context: SparkContext, end: Callable[[], None]) -> None:
    """A cluster may end what runs on it: its master was lost, or somebody stopped the application there."""
    from ingest.jobs.cluster import is_stopped

    def watch() -> None:
        while not is_stopped(context):
            asked.wait(LOOK_S)
        log.error("the cluster ended this application")
        end()

    asked = threading.Event()  # nobody sets it
    threading.Thread(target=watch, name="context", daemon=True).start()


def _warm_up(context: SparkContext) -> None:
    """The first job pays for classes, the daemon and its imports: let nobody wait for them twice."""
    cores = context.defaultParallelism
    context.parallelize(range(cores), cores).map(abs).collect()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ingest.jobs.driver")
    parser.add_argument("--data", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--heap-mib", type=int, default=1024)
    parser.add_argument("--cores", type=int, default=0)
    return parser.parse_args(arguments)


def _open_log(path: Path) -> int:
    """Standard output and error of this process and of its JVM go to the log."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(descriptor, 2)
    return descriptor


def _end(scratch_folder: list[Path]) -> None:
    """Ends this process and its JVM at once; the workers end with the JVM. Nothing needs finishing."""
    import shutil

    for folder in scratch_folder:
        shutil.rmtree(folder, ignore_errors=True)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
