"""One replay in a child process: the request on standard input, progress and the outcome on standard output."""

from __future__ import annotations

import logging
import os
import queue
import sys
from pathlib import Path
from typing import Any

from ingest.jobs.lifeline import Answers, Command, Lifeline
from ingest.jobs.limits import limit_resources
from ingest.lake.steps import ParquetStepSink
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.errors import ReplayError

log = logging.getLogger("ingest.replay")


def run(request: Command, answers: Answers) -> None:
    """Writes the steps into the request's folder and sends the outcome."""
    sink = ParquetStepSink(Path(request["folder"]))
    with open_bundle(request["pack"]) as bundle:
        answers.send(progress=_progress(0, "Reading the recording"))
        outcome = replay(
            bundle,
            task=request.get("task"),
            failure=request.get("failure"),
            attempt=request.get("attempt"),
            sink=sink,
            progress=lambda steps, *_: answers.send(progress=_progress(steps, f"{steps} steps")),
        )
    answers.send(progress=_progress(sink.steps, "Sorting the steps"))
    sink.finish()
    answers.send(outcome=outcome.to_json() | {"steps": sink.steps})


def _progress(steps: int, message: str) -> dict[str, Any]:
    """How many steps there will be is known at the end only."""
    return {"phase": "replaying", "done": steps, "total": 0, "unit": "steps", "message": message}


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
    log.info("replay ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
