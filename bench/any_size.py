"""How much memory the ingest of a whole recording takes, however large: the driver, its JVM and all workers together.

A recording of `nexmark-q1` is taken again and again, as so many attempts of the same tasks, with all its members. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.ingest import MIB, PROCESSES
from bench.process_tree import Watched
from ingest.launch import IngestRequest, SparkDriver
from replay.bundle.container import Container
from replay.bundle.pack import write_pack
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS

GOAL_MIB = 2048


class Again(Container):
    """Members of a folder; those of attempts so many times, each as an attempt of its own."""

    kind = "again"

    def __init__(self, folder: Path, times: int) -> None:
        self._folder, self._times = folder, times
        self._paths = sorted(path for path in folder.rglob("*") if path.is_file())

    def members(self) -> Iterator[tuple[str, int, io.BufferedReader]]:
        for path in self._paths:
            name, size = path.relative_to(self._folder).as_posix(), path.stat().st_size
            parts = name.split("/")
            for attempt in range(self._times if parts[0] == "tasks" else 1):
                if parts[0] == "tasks":
                    name = "/".join([*parts[:2], str(attempt), *parts[3:]])
                with path.open("rb") as stream:
                    yield name, size, stream

    def close(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=20)
    parser.add_argument("--events", type=int, default=2_000_000, help="of the recording that is taken again and again")
    parser.add_argument("--folder", type=Path, help="where the recording, its pack and tables are made and removed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-", dir=asked.folder) as folder:
        print(json.dumps(_measured(Path(folder), asked)))


def _measured(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    recording = folder / "recording"
    record(RecordOptions(job="nexmark-q1", seed=1, events=asked.events, parallelism=4), recording, protocols=PROTOCOLS)
    once = sum(path.stat().st_size for path in recording.rglob("*") if path.is_file())
    sizes = []
    for gib in (asked.gib / 8, asked.gib):
        times = max(1, round(gib * 1024 * MIB / once))
        sizes.append(_ingested(folder, recording, times))
        print(json.dumps(sizes[-1]), flush=True)
    return {"cores": os.cpu_count(), "goal_mib": GOAL_MIB, "recording_mib": once // MIB, "sizes": sizes}


def _ingested(folder: Path, recording: Path, times: int) -> dict[str, Any]:
    pack, staging = folder / "again.pack", folder / "staging"
    with Again(recording, times) as container:
        write_pack(container, pack)
    driver = SparkDriver(folder / "data", folder / "driver.log", cores=PROCESSES)
    driver.start()
    try:
        if driver.pid is None:
            raise SystemExit(f"the driver is gone: {driver.log_path.read_text()[-2000:]}")
        with Watched(driver.pid) as watched:
            began_s = time.monotonic()
            result = driver.ingest(IngestRequest("j_1", pack, staging, "w", 0))
            seconds = time.monotonic() - began_s
    finally:
        driver.stop()
    tables = sum(path.stat().st_size for path in staging.rglob("*") if path.is_file())
    told = {
        "attempts": times,
        "pack_mib": pack.stat().st_size // MIB,
        "tables_mib": tables // MIB,
        "rows": {table: result.facts[table] for table in ("determinants", "buffers") if table in result.facts},
        "s": round(seconds),
        "cpu_s": round(watched.cpu_s),
        "most_mib": watched.most_bytes // MIB,
        "of_kind_mib": {kind: size // MIB for kind, size in watched.most_of.items()},
    }
    pack.unlink()
    shutil.rmtree(staging)
    return told


if __name__ == "__main__":
    main()
