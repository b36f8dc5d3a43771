"""Runs real Structured Streaming queries, as a program: `streaming_queries.py FOLDER PROVIDER`.

Says a line on standard output for each thing that is done. The last query stands still in its batch until it is killed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQueryListener

PROVIDERS = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "rocksdb-changelog": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
FILES = 4
KEYS = ("ada", "grace", "edsger")
STANDS_STILL_IN = 2
STATE = "spark.sql.streaming.stateStore."


def orders(n: int) -> list[dict[str, Any]]:
    """What the file of batch n holds."""
    return [
        {"key": KEYS[(n + k) % (2 + (n > 0))], "amount": 10 * n + k, "at": f"2026-01-01T00:0{n}:00Z"} for k in range(5)
    ]


def write_orders(folder: Path) -> None:
    folder.mkdir(parents=True)
    for n in range(FILES):
        path = folder / f"{n}.json"
        path.write_text("".join(json.dumps(one) + "\n" for one in orders(n)))
        os.utime(path, (1_700_000_000 + n, 1_700_000_000 + n))  # a file source takes the oldest first


def session(provider: str) -> SparkSession:
    built = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1 -Xss4m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        STATE + "providerClass": PROVIDERS[provider],
        STATE + "rocksdb.changelogCheckpointing.enabled": str(provider == "rocksdb-changelog").lower(),
        STATE + "minDeltasForSnapshot": "2",
        STATE + "maintenanceInterval": "500ms",
    }
    for name, value in settings.items():
        built = built.config(name, value)
    return built.getOrCreate()


def say(what: str) -> None:
    print(what, flush=True)


def totals(spark: SparkSession, folder: Path) -> DataFrame:
    read = spark.readStream.schema("key string, amount long, at timestamp").option("maxFilesPerTrigger", 1)
    return read.json(str(folder / "in")).groupBy("key").agg(F.sum("amount").alias("total"))


def run_to_the_end(spark: SparkSession, folder: Path) -> None:
    """Into a file sink, by windows of event time."""
    read = spark.readStream.schema("key string, amount long, at timestamp").option("maxFilesPerTrigger", 1)
    windows = read.json(str(folder / "in")).withWatermark("at", "30 seconds").groupBy("key", F.window("at", "1 minute"))
    written = windows.count().writeStream.outputMode("append").format("json").option("path", str(folder / "out"))
    written.option("checkpointLocation", str(folder / "ended")).trigger(availableNow=True).start().awaitTermination()


class Batches(StreamingQueryListener):
    """Says when a query has done so many."""

    def __init__(self, wanted: int) -> None:
        self.left, self.done = wanted, threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        self.left -= event.progress.numInputRows > 0
        if self.left <= 0:
            self.done.set()

    def onQueryTerminated(self, event: Any) -> None:
        pass


def run_rate(spark: SparkSession, folder: Path) -> None:
    heard = Batches(2)
    spark.streams.addListener(heard)
    read = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    query = read.writeStream.format("noop").option("checkpointLocation", str(folder / "rate")).start()
    heard.done.wait()
    query.stop()
    spark.streams.removeListener(heard)


def stand_still(spark: SparkSession, folder: Path) -> None:
    """The batch's work is done and its state is written; its commit is not."""

    def give_out(rows: DataFrame, batch: int) -> None:
        rows.collect()
        if batch == STANDS_STILL_IN:
            say("in the batch")
            sys.stdin.read()

    written = totals(spark, folder).writeStream.outputMode("update").foreachBatch(give_out)
    written.option("checkpointLocation", str(folder / "killed")).start().awaitTermination()


def main() -> None:
    folder, provider = Path(sys.argv[1]), sys.argv[2]
    write_orders(folder / "in")
    spark = session(provider)
    run_to_the_end(spark, folder)
    say("ended")
    if provider == "hdfs":
        run_rate(spark, folder)
        say("rate")
    stand_still(spark, folder)


if __name__ == "__main__":
    main()
