"""Steps of a replay that was made elsewhere, taken in a child process: whoever wrote the file may mean harm."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ingest.jobs.confined import confine
from ingest.jobs.lifeline import Answers, Command, log_to_standard_error, only_command
from ingest.jobs.limits import limit_behind, limit_resources, use_reserve
from ingest.lake.steps import ParquetStepSink
from ingest.replay_limits import ReplayLimits
from replay.debugger.elsewhere.reading import limits as bounds
from replay.debugger.elsewhere.reading import read_steps
from replay.errors import ReplayError

log = logging.getLogger("ingest.steps")


def run(request: Command) -> dict[str, Any]:
    """What the file says that the replay came to; its steps are in `folder` then."""
    folder = Path(request["folder"])
    sink = ParquetStepSink(folder)
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=folder) as scratch:
        told = read_steps(Path(request["steps"]), Path(scratch), sink, bounds(request["most_bytes"]))
        sink.finish()
    return asdict(told)


def main() -> int:
    answers = Answers()
    log_to_standard_error()
    request = only_command()
    limits = ReplayLimits(**request["limits"])

    def give_up(which: str) -> None:
        use_reserve()
        answers.send(failed=f"the steps were refused: {limits.reached(which)}.")
        os._exit(0)

    try:
        limit_resources(limits, give_up)
        confine()
        answers.send(outcome=run(request))
    except ReplayError as fault:
        answers.send(failed=str(fault))
    except BaseException as fault:
        which = limit_behind(fault)
        log.exception("taking steps failed")
        use_reserve()
        why = limits.reached(which) if which else f"reading them failed ({type(fault).__name__})"
        answers.send(failed=f"the steps were refused: {why}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
