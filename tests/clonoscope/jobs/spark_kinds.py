"""A job with every kind of function that Spark calls. `wrapped`: recorded line by line; `plain`: it knows of nothing.

`python spark_kinds.py FOLDER wrapped|plain`. The first time that it comes to order 5, the worker is killed.
"""

import os
import random
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import pandas_udf, udf
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import DoubleType

FOLDER, MODE = Path(sys.argv[1]), sys.argv[2]
LONGS = "order long, shard long"
recorded: Any = lambda what: what  # noqa: E731 - nothing, or what records
if MODE == "wrapped":
    from clonoscope.adapters.spark import recorder

    recorded = recorder("kinds", dir=FOLDER / "recordings", payload="full", intercept=True)


def die_once(order: int) -> None:
    marker = FOLDER / "died"
    if order == 5 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


@recorded
def by_row(order: int) -> float:
    found = time.time()
    die_once(order)
    return found


@recorded
def by_column(orders: pd.Series) -> pd.Series:
    return orders + random.random()


@recorded
def by_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        frame["shard"] = frame["order"] % 2
        time.time_ns()
        yield frame[["order", "shard"]]


@recorded
def by_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        uuid.uuid4()
        yield batch


@recorded
def by_sides(key: tuple[Any, ...], orders: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    time.time_ns()
    orders["order"] = orders["order"] + limits["most"].max() + key[0]
    return orders


@recorded
def by_group(key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    count = sum(len(frame) for frame in frames) + (state.get[0] if state.exists else 0)
    state.update((count,))
    state.getCurrentProcessingTimeMs()
    yield pd.DataFrame({"order": [count], "shard": [key[0]]})


class Counting(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.seen = handle.getValueState("seen", "seen long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        count = sum(len(frame) for frame in rows) + (self.seen.get()[0] if self.seen.exists() else 0)
        self.seen.update((count,))
        timerValues.getCurrentProcessingTimeInMs()
        yield pd.DataFrame({"order": [count], "shard": [key[0]]})

    def close(self) -> None:
        pass


class Due(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.due = handle.getListState("due", "due long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        for frame in rows:
            for order in frame["order"].tolist():
                self.handle.registerTimer(order * 10_000)
        late = sum(at <= timerValues.getCurrentWatermarkInMs() for at in self.handle.listTimers())
        yield pd.DataFrame({"order": [late], "shard": [key[0]]})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        self.due.appendValue((expiredTimerInfo.getExpiryTimeInMs(),))
        behind = timerValues.getCurrentWatermarkInMs() - expiredTimerInfo.getExpiryTimeInMs()
        yield pd.DataFrame({"order": [behind + len(list(self.due.get()))], "shard": [key[0]]})

    def close(self) -> None:
        pass


def by_whole(orders: pd.Series, shards: pd.Series) -> float:
    share = random.random()
    return float((orders + shards).sum()) * share


def summed(batch: DataFrame, number: int) -> None:
    """Spark aggregates no stream by functions of Python, but the frame of a batch."""
    total = pandas_udf(by_whole, DoubleType())("order", "shard")
    batch.groupBy("shard").agg(total.alias("total")).collect()


class Writer:
    def process(self, row: Any) -> None:
        with open(FOLDER / "sink", "a") as sink:
            sink.write(f"{row.order} {row.shard}\n")


@recorded
def by_batch(batch: DataFrame, number: int) -> None:
    rows = batch.collect()
    for row in rows if MODE == "plain" else recorded.outputs(rows, key="shard", id="shard"):
        with open(FOLDER / "counts", "a") as sink:
            sink.write(f"{number} {row.shard} {row.order}\n")


def main() -> None:
    setting = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    for name, value in (line.split("=") for line in sys.argv[3:]):
        setting = setting.config(name, value)
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark = (
        setting.config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", store)
        .getOrCreate()
    )
    orders = spark.readStream.schema("order long").option("maxFilesPerTrigger", 1).json(str(FOLDER / "in"))
    rows = orders.select("order", udf(by_row, DoubleType())("order").alias("at"))
    rows = rows.select("order", "at", pandas_udf(by_column, DoubleType())("order").alias("some"))
    shards = rows.mapInPandas(by_frames, LONGS).mapInArrow(by_batches, LONGS)
    limits = spark.range(5).selectExpr("id % 2 as shard", "1000 - id as most")
    shards = shards.groupBy("shard").cogroup(limits.groupBy("shard")).applyInPandas(by_sides, LONGS)
    counts = shards.groupBy("shard").applyInPandasWithState(
        by_group, LONGS, "count long", "update", GroupStateTimeout.NoTimeout
    )
    first = counts.writeStream.queryName("counts").outputMode("update").foreachBatch(by_batch)
    sharded = orders.selectExpr("order", "order % 2 as shard").groupBy("shard")
    seen = sharded.transformWithStateInPandas(recorded(Counting()), LONGS, "Update", "None")
    second = seen.writeStream.queryName("seen").outputMode("update").foreach(recorded(Writer()))
    queries = [("counts", first), ("seen", second)]
    if MODE == "plain":  # by wrapping, `spark_forms.py` has them
        timed = orders.selectExpr("order", "order % 2 as shard", "timestamp_seconds(order * 10) as at")
        timed = timed.withWatermark("at", "1 second").groupBy("shard")
        due = timed.transformWithStateInPandas(Due(), LONGS, "Update", "EventTime")
        queries.append(("due", due.writeStream.queryName("due").outputMode("update").foreachBatch(summed)))
    for name, query in queries:
        query = query.option("checkpointLocation", str(FOLDER / "checkpoints" / name)).trigger(availableNow=True)
        query.start().awaitTermination()


if __name__ == "__main__":
    main()
