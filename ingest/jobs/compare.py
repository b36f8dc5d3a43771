"""Two attempts side by side, in a child process: the request on standard input, the report on standard output."""

from __future__ import annotations

import sys
from typing import Any

from ingest.jobs.answering import answer
from ingest.jobs.lifeline import Command
from replay.bundle.reader import open_bundle
from replay.debugger.sides.attempts import Side, compare_attempts


def run(request: Command) -> dict[str, Any]:
    """The report."""
    one, other = request["sides"]
    with open_bundle(one["pack"]) as first, open_bundle(other["pack"]) as second:
        return compare_attempts(
            Side(first, one["task"], one["attempt"], one["name"]),
            Side(second, other["task"], other["attempt"], other["name"]),
        )


def main() -> int:
    return answer("the comparison", run, remedy="The command compare has no such limit.")


if __name__ == "__main__":
    sys.exit(main())
