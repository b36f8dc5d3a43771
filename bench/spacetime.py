"""What windows of the space-time diagram cost at 100 tasks and 5 million buffers: `python -m bench.spacetime`.

The tables are made up, as an ingest would have written them: five vertices of twenty tasks, each of which sends to all
of the next vertex. Told is processor time, mostly with everything unfolded: 1,600 pairs of lanes. The last line is one
JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.guarantee_tables import DURATION_US, JOB, job_of, made_up_rows, write_table
from ingest.lake.manifest import LakeManifest
from ingest.lake.publish import publish
from ingest.lake.readers import Lake
from ingest.transforms.growth.places import Names
from replay.model import Graph

TIMES = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buffers", type=int, default=5_000_000)
    parser.add_argument("--tasks", type=int, default=20, help="of each of five vertices")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
        graph = made(Path(folder), asked.tasks, asked.buffers)
        report = {"buffers": asked.buffers, "tasks": 5 * asked.tasks, **questions(Path(folder), graph)}
    print(json.dumps(report, separators=(",", ":")))
    return 0


def made(folder: Path, tasks: int, buffers: int) -> Graph:
    """Writes and publishes `sendings` and `buffers`."""
    manifest = job_of(5, tasks, None)
    names = Names(Graph(manifest))
    rows = made_up_rows(names, buffers // sum(len(task.outputs) for task in manifest.tasks))
    staging = folder / "staging"
    staging.mkdir()
    files = [file for table in ("sendings", "buffers") for file in write_table(table, staging, names, rows)]
    LakeManifest(JOB, tuple(files)).write(staging)
    publish(folder / "data", staging, JOB, "w", 0)
    return names.graph


def questions(folder: Path, graph: Graph) -> dict[str, Any]:
    """Of each question its processor time in ms, the median of some, and how large its answer is."""
    from dashboard.queries.spacetime.cone import cone
    from dashboard.queries.spacetime.lanes import Lanes
    from dashboard.queries.spacetime.marks import Window, marks
    from dashboard.queries.spacetime.selection import selected

    lake, middle = Lake(folder / "data"), DURATION_US // 2
    unfolded, folded = Lanes.of(graph, folded=()), Lanes.of(graph)
    channel = next(one for one in graph.channels if one.source == "map-2.0")
    row = lake.rows(
        "SELECT channel, attempt, seq FROM buffers WHERE channel = $channel AND cut_us >= $middle ORDER BY seq LIMIT 1",
        {"channel": channel.id, "middle": middle},
        job=JOB,
    )[0]
    one = selected(lake, graph, job=JOB, name="buffer:{}/{}#{}".format(*row))
    if one is None:
        raise AssertionError("the buffer is there, and is not found")
    found = cone(lake, graph, job=JOB, upto=one.upto, since=one.since)
    windows = {share: Window(middle, middle + DURATION_US // share) for share in (10, 100, 1_000, 10_000)}
    asked: dict[str, Callable[[], Any]] = {
        "whole, folded": lambda: marks(lake, folded, job=JOB, window=Window(0, DURATION_US), cone=None),
        "whole": lambda: marks(lake, unfolded, job=JOB, window=Window(0, DURATION_US), cone=None),
        "whole, selected": lambda: marks(lake, unfolded, job=JOB, window=Window(0, DURATION_US), cone=found),
        **{
            f"1/{share}": lambda window=window: marks(lake, unfolded, job=JOB, window=window, cone=None)  # type: ignore[misc]
            for share, window in windows.items()
        },
        "causes and effects": lambda: cone(lake, graph, job=JOB, upto=one.upto, since=one.since),
    }
    return {name: measured(name, ask) for name, ask in asked.items()}


def measured(name: str, ask: Callable[[], Any]) -> dict[str, Any]:
    ask()
    spent = []
    for _ in range(TIMES):
        began = time.process_time()
        answer = ask()
        spent.append(time.process_time() - began)
    told: dict[str, Any] = {"cpu_ms": round(1000 * statistics.median(spent))}
    if isinstance(answer, dict):
        told |= {"marks": len(answer["marks"]["count"]), "bytes": len(json.dumps(answer, separators=(",", ":")))}
    print(json.dumps({"question": name, **told}), flush=True)
    return told


if __name__ == "__main__":
    raise SystemExit(main())
