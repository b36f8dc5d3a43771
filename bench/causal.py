"""How long an ingest takes to derive `holders` and `frontiers` at size, and in how much memory.

The tables that they follow from are made up: five layers of tasks, each sends to all of the next one, and every buffer
carries what is new in its sender's two logs. Each size runs in a process of its own. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.guarantee_tables import job_of, made_up_rows, write_table
from ingest.jobs.causal_tables import write_causal_tables
from ingest.transforms.growth.channel_rows import ChannelRows
from ingest.transforms.growth.places import Names
from replay.model import MAIN, Channel, Graph, thread_of_output

LAYERS, TASKS = 5, 20
BUILT_BYTES = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buffers", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--sized", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.sized:
        print(json.dumps(sized(asked.sized)))
        return
    sizes = [_in_a_child(buffers) for buffers in asked.buffers]
    print(json.dumps({"sizes": sizes}))


def _in_a_child(buffers: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.causal", "--sized", str(buffers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(told), flush=True)
    return told


def sized(buffers: int) -> dict[str, Any]:
    """Writes the tables that both are derived from, and derives them."""
    manifest = job_of(LAYERS, TASKS, None)
    names = Names(Graph(manifest))
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
        staging = Path(folder)
        rows = made_up_rows(names, buffers // len(names.graph.channels))
        channels = sorted(names.graph.channels, key=lambda one: one.id)
        files = [file for table in ("buffers", "sendings") for file in write_table(table, staging, names, rows)]
        files += write_table("deltas", staging, names, rows, (_deltas(channel, rows) for channel in channels))
        before_mib, began_s = _most_mib(), time.process_time()
        made = write_causal_tables(staging, manifest, files)
        seconds = time.process_time() - began_s
    counts = {table: sum(file.rows for file in [*files, *made] if file.table == table) for table in _TABLES}
    return {
        "tasks": LAYERS * TASKS,
        **counts,
        "cpu_s": round(seconds, 2),
        "most_mib": _most_mib(),
        "before_mib": before_mib,
    }


_TABLES = ("buffers", "sendings", "deltas", "holders", "frontiers")


def _deltas(channel: Channel, rows: ChannelRows) -> dict[str, Any]:
    """With every buffer what its sender's main log, and the log of its output, have grown by since the one before."""
    found = rows.buffers.whole(channel.id)
    begins = np.concatenate([[True], found["epoch"][1:] != found["epoch"][:-1]])
    before = np.where(begins, 0, np.concatenate([[0], found["main_offset"][:-1]]))
    index = np.arange(len(begins)) - np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
    own = {"offset": before, "length": found["main_offset"] - before}
    output = {"offset": index * BUILT_BYTES, "length": np.full(len(begins), BUILT_BYTES)}
    both = {name: np.stack([own[name], output[name]], axis=1).ravel() for name in own}
    there = both["length"] > 0
    twice = {name: np.repeat(found[name], 2) for name in ("attempt", "seq", "epoch")}
    columns = {name: pa.array(values[there]) for name, values in (both | twice).items()}
    threads = np.tile([MAIN, thread_of_output(channel.k)], len(begins))[there]
    return {"channel": channel.id, "task": channel.source, "thread": pa.array(threads), "sending": 0, **columns}


def _most_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
