"""Steps of a replay that was made elsewhere, taken in a child process: whoever wrote the file may mean harm."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ingest.jobs.answering import answer
from ingest.jobs.lifeline import Command
from ingest.lake.steps import ParquetStepSink
from replay.debugger.elsewhere.reading import limits as bounds
from replay.debugger.elsewhere.reading import read_steps


def run(request: Command) -> dict[str, Any]:
    """What the file says that the replay came to; its steps are in `folder` then."""
    folder = Path(request["folder"])
    sink = ParquetStepSink(folder)
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=folder) as scratch:
        told = read_steps(Path(request["steps"]), Path(scratch), sink, bounds(request["most_bytes"]))
        sink.finish()
    return asdict(told)


def main() -> int:
    return answer("taking the steps", run)


if __name__ == "__main__":
    sys.exit(main())
