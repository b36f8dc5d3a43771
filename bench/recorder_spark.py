"""What recording costs a job of Spark: the same function over the same batches, recorded and not, in one session.

`python -m bench.recorder_spark`. All sides in turn, forwards and backwards, in the same workers; the time of a batch is
Spark's own, and what is left is told of each round. What a function alone takes is told beside it, in CPU time, as
others may use the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clonoscope
from bench.recorder import order
from clonoscope.adapters.spark import recorder
from clonoscope.reading import size_of

_LINES = 60


def total(found: dict[str, Any]) -> int:
    """Of an order, in cents."""
    return sum(line["count"] * line["cents"] for line in found["lines"])


def plain(text: str) -> str:
    """A row: an order with its total, and when it was seen."""
    found = json.loads(text)
    return json.dumps({"order": found["order"], "total": total(found), "at": time.time()})


def asking(text: str) -> str:
    """The same, asked of the recorder."""
    found = json.loads(text)
    return json.dumps({"order": found["order"], "total": total(found), "at": clonoscope.time()})


def function_us(folder: Path, rows: int, rounds: int) -> dict[str, float]:
    """The least CPU time that a row takes in a worker, without what Spark does with it."""
    from pyspark.taskcontext import TaskContext

    text, found = order(7, _LINES).decode(), {}
    for side, function in sides(folder).items():
        times = []
        for batch in range(rounds):
            named = {"streaming.sql.batchId": str(batch), "sql.streaming.queryId": side}
            TaskContext(stageId=0, partitionId=0, attemptNumber=0, taskAttemptId=batch, localProperties=named)
            began = time.process_time()
            for _ in range(rows):
                function(text)
            TaskContext._setTaskContext(None)
            times.append((time.process_time() - began) / rows * 1e6)
        found[side] = round(min(times), 2)
    return found


def sides(folder: Path) -> dict[str, Callable[..., Any]]:
    """The function, by how it is recorded. The bound is out of reach: what lies there is counted."""
    return {"plain": plain} | {
        name: recorder("spark", dir=folder, max_mb=4096, hashes=name == "hashed")(asking, vertex=name)
        for name in ("recorded", "hashed")
    }


def batch_ms(spark: Any, folder: Path, name: str, function: Callable[..., Any]) -> list[float]:
    """Of each batch, what Spark says that it took; the first of a query warms up."""
    from pyspark.sql.functions import udf
    from pyspark.sql.types import StringType

    texts = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "in"))
    told = texts.select(udf(function, StringType())("value"))
    query = told.writeStream.format("noop").queryName(name).trigger(availableNow=True)
    running = query.option("checkpointLocation", str(folder / "checkpoints" / name)).start()
    running.awaitTermination()
    found = [progress["durationMs"]["addBatch"] for progress in running.recentProgress if progress["numInputRows"]]
    return [float(one) for one in found[1:]]


def spark_job(folder: Path, rows: int, batches: int, rounds: int) -> dict[str, Any]:
    """The share of throughput that is left, and what a row adds to the segments."""
    from pyspark.sql import SparkSession

    (folder / "in").mkdir(parents=True)
    text = b"\n".join(order(number, _LINES) for number in range(rows)) + b"\n"
    for number in range(batches):
        (folder / "in" / f"{number}.txt").write_bytes(text)
    functions = sides(folder)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    times: dict[str, list[float]] = {side: [] for side in functions}
    left: dict[str, list[float]] = {side: [] for side in functions if side != "plain"}
    for number in range(rounds + 1):
        took: dict[str, list[float]] = {}
        for side in list(functions) if number % 2 else list(functions)[::-1]:
            took[side] = batch_ms(spark, folder, f"{side}_{number}", functions[side])
        for side in functions if number else ():
            times[side] += took[side]
        for side in left if number else ():
            left[side].append(sum(took["plain"]) / sum(took[side]))
    spark.stop()
    return {
        "throughput_left": {side: _spread(found) for side, found in left.items()},
        "by_totals": {side: round(sum(times["plain"]) / sum(times[side]), 4) for side in left},
        "us_a_row": {side: round(statistics.median(of) / rows * 1000, 2) for side, of in times.items()},
        "bytes_a_row": round(size_of(folder / "spark") / (rows * batches * (rounds + 1) * 2), 2),
        "rounds": rounds,
        "batches_measured": len(times["plain"]),
    }


def _spread(ratios: list[float]) -> dict[str, float]:
    """Of rounds, in each of which the sides took turns: the machine's speed changes from one to the next."""
    quarters = statistics.quantiles(ratios, n=4)
    return {"median": round(quarters[1], 4), "from": round(quarters[0], 4), "to": round(quarters[2], 4)}


def main() -> int:
    """Prints the numbers as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="of each batch")
    parser.add_argument("--batches", type=int, default=4, help="of each query; its first warms up")
    parser.add_argument("--rounds", type=int, default=12)
    chosen = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH", "")]))
    folder = Path(tempfile.mkdtemp(prefix="clonoscope-bench-"))
    try:
        alone = function_us(folder / "alone", chosen.rows, 7)
        numbers = spark_job(folder / "job", chosen.rows, chosen.batches, chosen.rounds)
        print(json.dumps(numbers | {"function_us_a_row": alone}))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
