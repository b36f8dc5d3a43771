"""Replays by the command in forks of one process that has loaded Spark's and Arrow's libraries: each takes a moment.

That process is none of pytest's, in which other threads may be at work; it ends with the pipe that it is asked through.
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.clonoscope.engines import ROOT


def replayed(site: Path, bundle: Path, task: str, *arguments: Any) -> dict[str, Any]:
    """What the command ends with, and its status, where the code is in that folder."""
    found = _done(site, ["replay", str(bundle), "--task", task, "--json", *map(str, arguments)])
    lines = (site / "said").read_text().splitlines()
    assert lines, found
    return {**json.loads(lines[-1]), **found}


def minimised(site: Path, bundle: Path, task: str, to: str) -> str:
    """What the command said of the excerpt that it made."""
    found = _done(site, ["minimise", str(bundle), "--task", task, "--to", to])
    assert found.get("status") == 0, found
    return (site / "said").read_text()


def _done(site: Path, asked: list[str]) -> dict[str, Any]:
    process = _replaying()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps([str(site), asked]) + "\n")
    process.stdin.flush()
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


@functools.cache
def _replaying() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def main() -> None:
    """A line of JSON is a folder and a command; so is the answer."""
    import pandas  # noqa: F401 - before anything is forked
    import pyarrow.compute  # noqa: F401
    from pyspark.sql.streaming.state import GroupState  # noqa: F401

    from clonoscope.command import main as command
    from clonoscope.onsite.minimising import in_a_child
    from replay.errors import ReplayError

    for line in sys.stdin:
        site, arguments = json.loads(line)

        def run(site: str = site, arguments: list[str] = arguments) -> dict[str, Any]:
            os.chdir(site)
            with open("said", "w") as said, contextlib.redirect_stdout(said):
                status = command(arguments)
            return {"status": status}

        try:
            print(json.dumps(in_a_child(run)), flush=True)
        except ReplayError as fault:
            print(json.dumps({"fault": str(fault)}), flush=True)


if __name__ == "__main__":
    main()
