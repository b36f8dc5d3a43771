"""Recoverability of a whole job from its stored tables: 100 tasks and a million buffers, beside plain Python.

The tables are made up, as an ingest would have written them: five vertices of twenty tasks, every task to all of the
next vertex, determinants at full depth or less. Each sweep runs in a process of its own, so that memory can be told.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.guarantee_tables import made_up

KEYS_SHOWN = ("task", "task_or_world")


def main() -> int:
    options = _options()
    if options.sweep:
        return _sweep(Path(options.sweep), options.how)
    with tempfile.TemporaryDirectory() as folder:
        report = {
            "cores": os.cpu_count(),
            "jobs": [_job(Path(folder), *job) for job in _jobs(options)],
        }
    print(json.dumps(report, separators=(",", ":")))
    return 0


def _jobs(options: argparse.Namespace) -> Iterator[tuple[int, int, int, int | None, bool]]:
    """(vertices, tasks of each, buffers, sharing depth, whether plain Python is asked too)"""
    yield 5, 4, options.small, None, True
    yield 5, 4, options.small, 2, True
    for depth in (None, 2):
        yield 5, 20, options.buffers, depth, False


def _job(folder: Path, vertices: int, tasks: int, buffers: int, depth: int | None, plain: bool) -> dict[str, Any]:
    where = folder / f"{tasks}-{buffers}-{depth}"
    began = time.monotonic()
    rows = made_up(where, vertices, tasks, buffers, depth)
    told: dict[str, Any] = {
        "tasks": vertices * tasks,
        "buffers": buffers,
        "sharing_depth": depth or "full",
        "rows": rows,
    }
    told["made_s"] = round(time.monotonic() - began, 1)
    for how in ("tables", "python") if plain else ("tables",):
        told[how] = _asked(where, how)
        print(json.dumps({**told, "how": how}), flush=True)
    if plain and told["tables"]["numbers"] != told["python"]["numbers"]:
        raise SystemExit(f"the two disagree: {told}")
    return told


def _asked(where: Path, how: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "bench.guarantees", "--sweep", str(where), "--how", how]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _sweep(where: Path, how: str) -> int:
    from bench.guarantee_tables import MadeUp
    from ingest.lake.recoverability.kernel import warm_up

    source = MadeUp(where)
    warm_up()
    before_mib = _peak_mib()
    began, cpu = time.monotonic(), time.process_time()
    section = source.section(how)
    seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu
    numbers = {key: section.numbers[key] for key in ("smallest", "depths", "by_failures")}
    print(
        json.dumps(
            {
                "seconds": round(seconds, 1),
                "cpu_s": round(cpu_s, 1),
                "peak_mib": _peak_mib(),
                "before_mib": before_mib,
                "verdict": section.verdict,
                "numbers": numbers,
            }
        )
    )
    return 0


def _peak_mib() -> int:
    """Of this program alone: what `getrusage` tells begins with what the process had that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buffers", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=4_000, help="where plain Python is asked as well")
    parser.add_argument("--sweep", help=argparse.SUPPRESS)
    parser.add_argument("--how", default="tables", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
