"""Two attempts side by side, in a child process: the request on standard input, the report on standard output."""

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
from replay.debugger.sides.attempts import Side, compare_attempts
from replay.errors import ReplayError

log = logging.getLogger("ingest.compare")


def run(request: Command) -> dict[str, Any]:
    """The report."""
    one, other = request["sides"]
    with open_bundle(one["pack"]) as first, open_bundle(other["pack"]) as second:
        return compare_attempts(
            Side(first, one["task"], one["attempt"], one["name"]),
            Side(second, other["task"], other["attempt"], other["name"]),
        )


def main() -> int:
    answers = Answers()
    log_to_standard_error()
    request = only_command()
    log.info("comparison begins: %s", request)
    limits = ReplayLimits(**request["limits"])

    def give_up(which: str) -> None:
        use_reserve()
        answers.send(failed=f"{limits.reached(which)}. The command compare has no such limit.")
        os._exit(0)

    try:
        limit_resources(limits, give_up)
        confine()
        answers.send(outcome=run(request))
    except ReplayError as fault:
        answers.send(failed=str(fault))
    except BaseException as fault:
        which = limit_behind(fault)
        log.exception("comparison failed")
        use_reserve()
        said = limits.reached(which) if which else f"the comparison failed: {type(fault).__name__}: {fault}"
        answers.send(failed=f"{said}. The log has the whole story.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
