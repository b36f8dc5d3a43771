"""How fast a replay writes its steps, how soon the first is seen, what memory it takes, and how fast one moves in it.

Records two jobs and replays an attempt of each from its own log, with its steps into tables and without any, in turn,
on one core. Then a replay of so many steps runs in its child process as the worker starts it: when its first step can
be read, and how much memory it has as the steps go by. Over what it wrote the questions of the page are asked at random
places, and searches from end to end, forwards and backwards. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from bench.replay_child import Child
from bench.replay_moving import asked
from bench.replay_speed import rounds_of
from ingest.lake.step_reader import StepReader
from replay import live
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS

GOALS = {
    "steps_per_s": 100_000,
    "times_plain": 3.0,
    "first_step_s": 1.0,
    "ask_p95_ms": 50.0,
    "scan_ms": 500.0,
}
BUFFER_BYTES = 32_768
RATE_PER_S = 50_000.0
# The job, the task whose attempt is replayed, and how many steps it makes of an event.
JOBS = {"pass-through": ("map-1.0", 4.0), "nexmark-q1": ("convert.0", 1.9)}
LARGE = "pass-through"
SPEED_STEPS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000_000, help="about how many steps the large replay has")
    parser.add_argument("--speed-steps", type=int, default=SPEED_STEPS, help="and those whose speed is measured")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is replayed in turn")
    parser.add_argument("--times", type=int, default=100, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=1, help="of the places where one stands")
    parser.add_argument("--folder", type=Path, help="where recordings and steps are made and removed again")
    options = parser.parse_args()
    live.collect_garbage_rarely()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-", dir=options.folder) as folder:
        print(json.dumps(measured(Path(folder), options)))


def measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    result: dict[str, Any] = {"goals": GOALS, "load": os.getloadavg()[0], "speed": {}}
    for job, (task, steps_an_event) in JOBS.items():
        pack = packed(folder, job, round(options.speed_steps / steps_an_event))
        result["speed"][job] = rounds_of(pack, task, folder / f"steps-{job}", options.rounds)
        print(f"speed: {job}: {result['speed'][job]}", flush=True)
    task, steps_an_event = JOBS[LARGE]
    small = Child(folder / f"{LARGE}.pack", folder / "small", task, options.speed_steps).run()
    child = Child(folder / f"{LARGE}.pack", folder / "large", task, options.steps, prepared=True)
    packed(folder, LARGE, round(options.steps / steps_an_event))
    large = child.run()
    result["child"] = {"small": small, "large": large}
    print(f"child: {result['child']}", flush=True)
    result["ask"] = asked(StepReader(folder / "large"), options.times, random.Random(options.seed))
    return result


def packed(folder: Path, job: str, events: int) -> Path:
    """A recording as the store keeps it."""
    bundle, pack = folder / f"{job}-{events}", folder / f"{job}.pack"
    options = RecordOptions(
        job=job, seed=1, events=events, parallelism=1, buffer_bytes=BUFFER_BYTES, rate_per_s=RATE_PER_S
    )
    record(options, bundle, protocols=PROTOCOLS)
    with open_container(bundle) as container:
        write_pack(container, pack)
    shutil.rmtree(bundle)
    return pack


if __name__ == "__main__":
    main()
