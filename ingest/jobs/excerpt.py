"""The smallest excerpt of a recording that still diverges, made in a child process: its answer says what came of it."""

from __future__ import annotations

import sys
from typing import Any

from ingest.jobs.answering import answer
from ingest.jobs.lifeline import Command
from replay.bundle.reader import open_bundle
from replay.bundle.writer import BundleWriter
from replay.debugger.shrinking.shrink import shrink


def run(request: Command) -> dict[str, Any]:
    """Writes it to `out`."""
    asked = {name: request[name] for name in ("task", "failure", "attempt")}
    with BundleWriter(request["out"]) as writer, open_bundle(request["pack"]) as bundle:
        return shrink(bundle, **asked).write(writer)


def main() -> int:
    return answer("the excerpt", run, remedy="The command replay --shrink has no such limit.")


if __name__ == "__main__":
    sys.exit(main())
