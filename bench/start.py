"""How long a start takes until the first page answers, on a new data folder and on a known one; and an end.

The real server, by the command that `./run` ends in. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from bench.server_process import ServerProcess, processes_of, wait_until

GOAL_SECOND_START_S = 3.0
GOAL_END_S = 5.0
END_WAIT_S = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how many starts on the known folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
        print(json.dumps(measure(Path(folder) / "data", asked.times)))


def measure(data: Path, times: int) -> dict[str, Any]:
    first, *known = [start_and_end(data) for _ in range(times + 1)]
    starts, ends = [start for start, _ in known], [end for _, end in (first, *known)]
    return {
        "cores": os.cpu_count(),
        "first_start_s": round(first[0], 2),
        "second_start_s": round(statistics.median(starts), 2),
        "second_start_most_s": round(max(starts), 2),
        "goal_second_start_s": GOAL_SECOND_START_S,
        "end_s": round(statistics.median(ends), 2),
        "end_most_s": round(max(ends), 2),
        "goal_end_s": GOAL_END_S,
    }


def start_and_end(data: Path) -> tuple[float, float]:
    """Seconds until the first page answered, and from the signal until the last process was gone."""
    began_s = time.monotonic()
    server = ServerProcess(data, "--no-demo").start()
    httpx.get(server.address + "/login/").raise_for_status()
    started_s = time.monotonic() - began_s
    began_s = time.monotonic()
    server.end()
    wait_until(lambda: not list(processes_of(data)), "the end of every process", END_WAIT_S)
    return started_s, time.monotonic() - began_s


if __name__ == "__main__":
    main()
