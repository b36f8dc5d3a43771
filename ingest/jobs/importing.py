"""What another engine left behind, written as a bundle, in a child process: hostile bytes stay away from the server."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from ingest.importers.spark_checkpoint import is_checkpoint, write_bundle
from ingest.jobs.confined import confine
from ingest.jobs.lifeline import Answers, Command, log_to_standard_error, only_command
from ingest.jobs.limits import limit_behind, limit_resources, use_reserve
from ingest.replay_limits import ReplayLimits
from replay.bundle.containers import open_container
from replay.bundle.limits import Limits
from replay.bundle.writer import BundleWriter
from replay.errors import BundleError, ReplayError

log = logging.getLogger("ingest.importing")


def run(request: Command) -> dict[str, Any]:
    """Writes the bundle to `out`."""
    path, limits = Path(request["path"]), Limits(max_bytes=request["max_bytes"])
    with closing(open_container(path, limits)) as container:
        names = {name for name, _, _ in container.members()}
    if not is_checkpoint(names):
        raise BundleError("this is no checkpoint that is understood", path=path.name)
    with BundleWriter(request["out"]) as writer, closing(open_container(path, limits)) as container:
        write_bundle(container, names, writer, request["name"], limits)
    return {"kind": "spark-checkpoint"}


def main() -> int:
    answers = Answers()
    log_to_standard_error()
    request = only_command()
    log.info("an import begins: %s", request["path"])
    limits = ReplayLimits(**request["limits"])

    def give_up(which: str) -> None:
        use_reserve()
        answers.send(failed=f"{limits.reached(which)}.")
        os._exit(0)

    try:
        limit_resources(limits, give_up)
        confine()
        answers.send(outcome=run(request))
    except ReplayError as fault:
        answers.send(outcome={"refused": {"why": fault.why, "path": fault.path, "offset": fault.offset,
                                          "remedy": fault.remedy}})  # fmt: skip
    except BaseException as fault:
        which = limit_behind(fault)
        log.exception("an import failed")
        use_reserve()
        answers.send(failed=f"{limits.reached(which) if which else f'the import failed: {type(fault).__name__}'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
