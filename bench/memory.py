"""Whether memory stays flat over a long recording: resident bytes of a child that records, as the records go by.

The child runs `record`'s own way, into the container asked for. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from replay import live
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS

CONTAINERS = ("", ".tar.zst")
MIB = 1 << 20
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000, help="records read by all sources")
    parser.add_argument("--depth", type=int, default=2, help="vertices, source and sink among them")
    parser.add_argument("--folder", type=Path, help="where the recordings are made and removed again")
    parser.add_argument("--child", metavar="CONTAINER", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        live.collect_garbage_rarely()
        print(json.dumps(sample(asked.events, asked.depth, asked.folder / f"bundle{asked.child}")))
        return
    print(json.dumps({one or "folder": _of_child(one, asked) for one in CONTAINERS}))


def _of_child(container: str, asked: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-", dir=asked.folder) as folder:
        command = [sys.executable, "-m", "bench.memory", "--child", container, "--folder", folder]
        command += ["--events", str(asked.events), "--depth", str(asked.depth)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return numbers


def sample(events: int, depth: int, out: Path) -> dict[str, Any]:
    """Resident memory when these shares of the records were read, when all was written, and at the most."""
    resident: dict[int, float] = {}
    due = [int(events * share) for share in SHARES]

    def progress(read: int, _of: int) -> None:
        while due and read >= due[0]:
            resident[due.pop(0)] = _resident_mib()

    options = RecordOptions(events=events, depth=depth, parallelism=5, rate_per_s=100_000.0, buffer_bytes=32768)
    began_s = time.monotonic()
    summary = record(options, out, progress, protocols=PROTOCOLS)
    return {
        "records": summary["records"],
        "resident_mib": resident,
        "published_mib": _resident_mib(),
        "most_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "seconds": round(time.monotonic() - began_s),
        "bundle_mib": round(summary["bundle_bytes"] / MIB),
        "checkpoints": summary["checkpoints_completed"],
    }


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * _PAGE_BYTES / MIB, 1)


if __name__ == "__main__":
    main()
