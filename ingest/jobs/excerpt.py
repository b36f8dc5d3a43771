"""The smallest excerpt of a recording that still diverges, made in a child process: its answer says what came of it."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from ingest.jobs.confined import confine
from ingest.jobs.lifeline import Answers, Command, log_to_standard_error, only_command
from ingest.jobs.limits import limit_behind, limit_resources, use_reserve
from ingest.replay_limits import ReplayLimits
from replay.bundle.reader import open_bundle
from replay.bundle.writer import BundleWriter
from replay.debugger.shrinking.shrink import shrink
from replay.errors import ReplayError

_NO_LIMIT = "The command replay --shrink has no such limit"

log = logging.getLogger("ingest.excerpt")


def run(request: Command) -> dict[str, Any]:
    """Writes it to `out`."""
    asked = {name: request[name] for name in ("task", "failure", "attempt")}
    with BundleWriter(request["out"]) as writer, open_bundle(request["pack"]) as bundle:
        return shrink(bundle, **asked).write(writer)


def main() -> int:
    answers = Answers()
    log_to_standard_error()
    request = only_command()
    log.info("an excerpt begins: %s", request)
    limits = ReplayLimits(**request["limits"])

    def give_up(which: str) -> None:
        use_reserve()
        answers.send(failed=f"{limits.reached(which)}. {_NO_LIMIT}.")
        os._exit(0)

    try:
        limit_resources(limits, give_up)
        confine()
        answers.send(outcome=run(request))
    except ReplayError as fault:
        answers.send(failed=str(fault))
    except BaseException as fault:
        which = limit_behind(fault)
        log.exception("making an excerpt failed")
        use_reserve()
        said = f"{limits.reached(which)}. {_NO_LIMIT}" if which else f"the excerpt failed: {type(fault).__name__}"
        answers.send(failed=f"{said}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
