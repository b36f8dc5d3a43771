"""One replay in a child process: the request on standard input, progress and the outcome on standard output."""

from __future__ import annotations

import logging
import os
import queue
import sys
import time
from pathlib import Path
from typing import Any

from ingest.jobs.lifeline import Answers, Command, Lifeline
from ingest.jobs.limits import limit_resources
from ingest.lake.steps import ParquetStepSink
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.errors import ReplayError

TELL_EVERY_S = 0.2

log = logging.getLogger("ingest.replay")


def run(request: Command, answers: Answers) -> None:
    """Writes the steps into the request's folder and sends the outcome."""
    tell = Teller(answers)
    tell("reading", 0, None, "steps", always=True)
    sink = ParquetStepSink(Path(request["folder"]))
    which: dict[str, Any] = {name: request.get(name) for name in ("task", "failure", "attempt")}
    with open_bundle(request["pack"]) as bundle:
        outcome = replay(bundle, **which, sink=sink, progress=tell)
    tell("sorting", sink.steps, sink.steps, "steps", always=True)
    sink.finish()
    log.info("replay ended after %s steps, %s: %s", sink.steps, outcome.verdict, outcome.sentence)
    answers.send(outcome=outcome.to_json() | {"steps": sink.steps})


class Teller:
    """Passes progress on, not more often than anyone could look at it."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._told_s = 0.0

    def __call__(self, phase: str, done: int, total: int | None, unit: str, *, always: bool = False) -> None:
        now_s = time.monotonic()
        if always or now_s - self._told_s >= TELL_EVERY_S:
            self._told_s = now_s
            progress = {"phase": phase, "done": done, "total": total or 0, "unit": unit, "message": ""}
            self._answers.send(progress=progress)


def main() -> int:
    answers = Answers()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
    Lifeline(commands.put, lambda: os._exit(0)).start()
    limit_resources()
    request = commands.get()
    log.info("replay begins: %s", request)
    try:
        run(request, answers)
    except ReplayError as fault:
        log.exception("replay failed")
        answers.send(failed=str(fault))
    except MemoryError:
        log.exception("replay failed")
        answers.send(failed="the replay needs more memory than it may use. Replay a later failure, or raise its limit.")
    except OSError as fault:
        log.exception("replay failed")
        answers.send(failed=f"{fault.filename or request['folder']}: {fault.strerror}. Make room, then replay again.")
    except Exception as fault:
        log.exception("replay failed unexpectedly")
        answers.send(failed=f"the replay failed: {type(fault).__name__}: {fault}. The log has the whole story.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
