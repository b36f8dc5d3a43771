"""What it costs to join a recording with what its sink holds: `python -m bench.outside --records 1000000`."""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from replay.bundle.reader import open_bundle
from replay.bundle.writer import BundleWriter
from replay.guarantees.outside import How, outside
from replay.guarantees.outside.addresses import open_address
from replay.guarantees.outside.readers import READERS
from replay.log.codec import encode
from replay.log.determinants import Take
from replay.model import Clock, Job, Manifest, Protocol, Task, TaskId, Vertex, json_bytes

AN_EPOCH = 50_000
TASK = "orders.0"


def recorded(folder: Path, records: int) -> Path:
    """A job that took so many orders, and came to its end."""
    with BundleWriter(folder / "recording") as writer:
        events: list[dict[str, Any]] = [{"type": "attempt-started", "checkpoint": 0}]
        for epoch, first in enumerate(range(0, records, AN_EPOCH)):
            count = min(AN_EPOCH, records - first)
            writer.append(f"tasks/{TASK}/0/main/{epoch}.det", encode(Take(0, first, count)))
            lines = (
                json_bytes({"offset": n, "t_us": 0, "record": [None, 0, {"order": n}]})
                for n in range(first, first + count)
            )
            writer.append(f"tasks/{TASK}/0/source/{epoch}.ndjson", b"\n".join([*lines, b""]))
            events.append({"type": "checkpoint-acknowledged", "checkpoint": epoch + 1})
        for n, event in enumerate(events):
            line = {"n": n, "t_us": 0, "task": TASK, "attempt": 0, **event}
            writer.append("events.ndjson", json_bytes(line) + b"\n")
        return writer.close(_manifest())


def _manifest() -> Manifest:
    return Manifest(
        Job("orders", "bench", "2026-11-19T00:00:00Z"),
        Clock(0, "wall"),
        Protocol("none", sharing_depth=0, observed=True),
        (Vertex("orders", "operator"),),
        (),
        (Task(TaskId(TASK), "orders", 0, 0, partitions=("in[0]",)),),
        determinants="extended",
    )


def held(folder: Path, records: int) -> Path:
    """A table with every order once, and one of them twice."""
    with closing(sqlite3.connect(folder / "shop.db")) as data:
        data.execute('CREATE TABLE orders ("order" INTEGER, sku TEXT, price REAL)')
        data.executemany("INSERT INTO orders VALUES (?, 'lamp', 19.9)", _numbers(records))
        data.commit()
    return folder / "shop.db"


def _numbers(records: int) -> Iterator[tuple[int]]:
    yield from ((n,) for n in range(records))
    yield (records // 2,)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as name:
        bundle, table = recorded(Path(name), records), held(Path(name), records)
        before, began, wall = _resident_mib(), time.process_time(), time.monotonic()
        with open_bundle(bundle) as source:
            rows = open_address(f"sqlite:{table}?table=orders", READERS)
            found = outside(source, rows, How.parse("order", "order"))
        told = {"records": records, "verdict": found.verdict, **found.numbers}
        told |= {"processor_s": round(time.process_time() - began, 1), "wall_s": round(time.monotonic() - wall, 1)}
        print(json.dumps(told | {"resident_mib_before": before, "resident_mib_at_most": _resident_mib()}))


def _resident_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
