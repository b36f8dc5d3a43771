"""How many records a second the engine moves on one core, and what each kind of logging costs: both sides in one run.

A record-hop is a record that crosses a channel. Every round runs every setting once, in turn, so that whatever else the
machine does falls on all of them; an overhead is the median of the rounds' own ratios. Every number is given twice:
by the seconds of the processor, which others on the machine disturb least, and by those of the wall clock. The last
line is one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.engine_load import Load
from replay import live
from replay.bundle.writer import BundleWriter
from replay.runtime.engine import Engine, Run

GOALS_HOPS_PER_S = {"off": 150_000, "recording": 100_000}
GOALS_OVERHEAD_PERCENT = {"in-flight": 9.0, "depth-1": 11.0, "full": 13.0}


@dataclass(frozen=True, slots=True)
class Setting:
    """What is logged. `sharing_depth` 0 logs no determinants, None shares all of them."""

    name: str
    in_flight: bool
    sharing_depth: int | None
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Took:
    """How long a run took."""

    processor_s: float
    wall_s: float


SETTINGS = (
    Setting("off", in_flight=False, sharing_depth=0),
    Setting("in-flight", in_flight=True, sharing_depth=0),
    Setting("depth-1", in_flight=True, sharing_depth=1),
    Setting("full", in_flight=True, sharing_depth=None),
    Setting("recording", in_flight=True, sharing_depth=None, recorded=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="how often each setting runs")
    parser.add_argument("--events", type=int, default=100_000, help="records read by all sources of a run")
    asked = parser.parse_args()
    live.collect_garbage_rarely()
    print(json.dumps(measure(asked.rounds, Load(asked.events))))


def measure(rounds: int, load: Load) -> dict[str, Any]:
    runs: dict[str, list[Took]] = {setting.name: [] for setting in SETTINGS}
    hops: dict[str, int] = {}
    for number in range(rounds):
        turn = number % len(SETTINGS)
        for setting in (*SETTINGS[turn:], *SETTINGS[:turn]):
            took, moved = _run(setting, load)
            runs[setting.name].append(took)
            hops[setting.name] = moved
    return {
        "load": load.describes,
        "rounds": rounds,
        "hops": hops,
        "goal_hops_per_s": GOALS_HOPS_PER_S,
        "goal_overhead_percent": GOALS_OVERHEAD_PERCENT,
        "processor": _figures({name: [one.processor_s for one in took] for name, took in runs.items()}, hops),
        "wall": _figures({name: [one.wall_s for one in took] for name, took in runs.items()}, hops),
    }


def _figures(seconds: Mapping[str, Sequence[float]], hops: Mapping[str, int]) -> dict[str, Any]:
    return {
        "hops_per_s": {name: _spread([hops[name] / one for one in used], digits=0) for name, used in seconds.items()},
        "overhead_percent": {name: _overhead(seconds["off"], seconds[name]) for name in GOALS_OVERHEAD_PERCENT},
    }


def _overhead(off: Sequence[float], on: Sequence[float]) -> dict[str, float]:
    return _spread([100 * (b / a - 1) for a, b in zip(off, on, strict=True)], digits=1)


def _spread(values: Sequence[float], digits: int) -> dict[str, float]:
    ordered = sorted(values)
    skipped = _skipped(len(ordered))
    return {
        "median": round(statistics.median(ordered), digits),
        "from": round(ordered[skipped], digits),
        "to": round(ordered[-1 - skipped], digits),
    }


def _skipped(count: int) -> int:
    """How many of the least and of the largest may go, for an interval that holds the median 19 times of 20."""
    skipped, outside, ways = 0, 2.0 ** (1 - count), 1.0
    while skipped + 1 <= (count - 1) // 2:
        ways *= (count - skipped) / (skipped + 1)
        if outside + ways * 2.0 ** (1 - count) > 0.05:
            break
        outside += ways * 2.0 ** (1 - count)
        skipped += 1
    return skipped


def _run(setting: Setting, load: Load) -> tuple[Took, int]:
    run = load.run(in_flight=setting.in_flight, sharing_depth=setting.sharing_depth)
    if not setting.recorded:
        return _timed(run, lambda: Engine(run, None))
    with (
        tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder,
        BundleWriter(Path(folder) / "bundle") as writer,
    ):
        return _timed(run, lambda: Engine(run, writer), close=lambda: writer.close(run.manifest))


def _timed(run: Run, make: Callable[[], Engine], close: Callable[[], object] = lambda: None) -> tuple[Took, int]:
    gc.collect()
    processor_s, wall_s = time.process_time(), time.perf_counter()
    engine = make()
    engine.run()
    close()
    took = Took(time.process_time() - processor_s, time.perf_counter() - wall_s)
    return took, sum(one.body.processed for one in engine.current.values() if one.inputs)


if __name__ == "__main__":
    main()
