"""How fast determinants become Parquet: the warm Spark driver beside its decoder and writer in two plain processes.

Both take the same pack from its plan to its manifest, in turns, in one run. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.process_tree import Watched
from bench.tiled import SHAPES, Tiles, write_tiled
from bench.without_spark import ingest_here
from ingest.launch import IngestRequest, SparkDriver

MIB = 1 << 20
PROCESSES = 2
WARM_DETERMINANTS = 200_000
GOAL_OF_PLAIN, GOAL_MEMORY_MIB, GOAL_TIMES_TEN = 0.7, 2048, 11.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--determinants", type=int, default=15_000_000)
    parser.add_argument("--times", type=int, default=10, help="the larger bundle has so many times as many")
    parser.add_argument("--shape", choices=SHAPES, default="even")
    parser.add_argument("--rounds", type=int, default=3, help="of each side, in turns; medians are told")
    parser.add_argument("--folder", type=Path, help="where packs and tables are made and removed again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-bench-", dir=asked.folder) as folder:
        print(json.dumps(_compared(Path(folder), asked)))


def _compared(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    tiles = Tiles.recorded()
    sides = Sides(folder)
    try:
        sides.warm(tiles)
        sizes = [asked.determinants] + [asked.determinants * asked.times] * (asked.times > 1)
        told = [_size(sides, tiles, size, asked) for size in sizes]
    finally:
        sides.close()
    times = {side: round(told[-1][side]["s"] / told[0][side]["s"], 2) for side in ("spark", "plain")}
    goals = {"of_plain": GOAL_OF_PLAIN, "memory_mib": GOAL_MEMORY_MIB, "times": GOAL_TIMES_TEN}
    return {"cores": os.cpu_count(), "shape": asked.shape, "sizes": told, "times": times, "goals": goals}


def _size(sides: Sides, tiles: Tiles, determinants: int, asked: argparse.Namespace) -> dict[str, Any]:
    pack = sides.folder / "tiled.pack"
    count, size_bytes = write_tiled(tiles, determinants, asked.shape, pack)
    spark, plain = [], []
    for _ in range(asked.rounds):
        spark.append(sides.spark(pack))
        plain.append(sides.plain(pack))
        print(f"{count:,}: Spark {spark[-1]}, without {plain[-1]}", flush=True)
        if spark[-1].rows != plain[-1].rows or spark[-1].rows != count:
            raise SystemExit(f"the sides disagree: {count} determinants, {spark[-1].rows} and {plain[-1].rows} rows")
    pack.unlink()
    told: dict[str, Any] = {
        "determinants": count,
        "bytes": size_bytes,
        "spark": _median(spark),
        "plain": _median(plain),
    }
    for unit in ("s", "cpu_s"):
        told[f"spark_of_plain_{unit}"] = round(told["plain"][unit] / told["spark"][unit], 3)
    return told


@dataclass(frozen=True, slots=True)
class Taken:
    """One ingest."""

    s: float
    cpu_s: float
    rows: int
    most_mib: int
    of_kind_mib: dict[str, int] = field(default_factory=dict)


def _median(rounds: list[Taken]) -> dict[str, Any]:
    most = max(rounds, key=lambda one: one.most_mib)
    seconds = statistics.median(one.s for one in rounds)
    return {
        "s": round(seconds, 2),
        "cpu_s": round(statistics.median(one.cpu_s for one in rounds), 2),
        "all_s": [round(one.s, 2) for one in rounds],
        "million_a_second": round(rounds[0].rows / seconds / 1e6, 1),
        "most_mib": most.most_mib,
        "of_kind_mib": most.of_kind_mib,
    }


class Sides:
    """A Spark driver and a pool of two processes, both warm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = SparkDriver(folder / "data", folder / "driver.log", cores=PROCESSES)
        self.pool = ProcessPoolExecutor(PROCESSES, get_context("spawn"))
        self._number = 0

    def warm(self, tiles: Tiles) -> None:
        pack = self.folder / "warm.pack"
        write_tiled(tiles, WARM_DETERMINANTS, "even", pack)
        self.driver.start()
        for _ in range(2):
            self._request(pack)
            self.plain(pack)

    def spark(self, pack: Path) -> Taken:
        root = self.driver.pid
        if root is None:
            raise SystemExit(f"the driver is gone: {self.driver.log_path.read_text()[-2000:]}")
        with Watched(root) as watched:
            began_s = time.perf_counter()
            rows = self._request(pack)
            seconds = time.perf_counter() - began_s
        return _taken(seconds, rows, watched)

    def _request(self, pack: Path) -> int:
        self._number += 1
        staging = self.folder / "staging"
        result = self.driver.ingest(IngestRequest("j_1", pack, staging, "w", self._number))
        shutil.rmtree(staging)
        return int(result.facts["determinants"])

    def plain(self, pack: Path) -> Taken:
        staging = self.folder / "plain"
        with Watched(os.getpid(), without=self.driver.pid) as watched:
            began_s = time.perf_counter()
            rows = int(ingest_here("j_1", pack, staging, pool=self.pool)["facts"]["determinants"])
            seconds = time.perf_counter() - began_s
        shutil.rmtree(staging)
        return _taken(seconds, rows, watched)

    def close(self) -> None:
        self.driver.stop()
        self.pool.shutdown()


def _taken(seconds: float, rows: int, watched: Watched) -> Taken:
    kinds = {kind: size // MIB for kind, size in watched.most_of.items()}
    return Taken(round(seconds, 3), watched.cpu_s, rows, watched.most_bytes // MIB, kinds)


if __name__ == "__main__":
    main()
