"""Functions of every form that Spark calls, in a module that can be imported where Spark is not; `run` is the job.

`FORMS=FOLDER python spark_forms.py SETTING=VALUE…`. What is commented as `planted` is what tests change.
"""

import datetime
import decimal
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import arrow_udf, col, pandas_udf, struct, udf
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import DoubleType, StringType

import clonoscope
from clonoscope.adapters.spark import recorder

SHARED = "order long, shard long, cents decimal(10,2), at timestamp, tags array<string>"
FEWER = "order long, shard long, some double"
# The workers' too; where a function is replayed there is none.
FOLDER = os.environ.get("FORMS", ".")
recorded = recorder("forms", dir=Path(FOLDER) / "recordings", payload="full", intercept=True)


def look_up(order: int) -> float:
    """Outside; where a replay is, nobody answers. It fails once, of order 5."""
    failed = Path(FOLDER) / "failed"
    if "FORMS" not in os.environ or (order == 5 and not failed.exists()):
        failed.touch()
        raise ConnectionError(f"order {order} has no price")
    return order * 1.5


@udf(StringType())
@recorded
def by_row(order: int, at: datetime.datetime, line: Row, tags: list[str]) -> str:
    price = clonoscope.external(look_up, order)
    due = at + datetime.timedelta(days=1)
    total = line.cents + decimal.Decimal("0.10")  # planted
    return f"{order} {price} {due:%d.%m.} {total} {len(tags)} {time.time_ns()}"


@recorded
def by_column(orders: pd.Series, cents: pd.Series) -> pd.Series:
    return orders * clonoscope.random() + cents.astype(float)  # planted


@recorded
def by_array(orders: pa.Array, cents: pa.Array) -> pa.Array:
    price = pc.multiply(orders.cast(pa.float64()), clonoscope.random())
    return pc.add(price, cents)  # planted


@recorded
def by_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        frame["order"] = frame["order"] + 0  # planted
        clonoscope.time_ns()
        yield frame


@recorded
def by_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        clonoscope.uuid4()
        kept = batch.filter(pc.greater_equal(batch["order"], 0))  # planted
        yield kept


@recorded
def by_group(key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
    frame["order"] = frame["order"] + key[0] * 100
    return frame.sort_values("order")  # planted


@recorded
def by_table(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
    shard = pa.repeat(key[0], table.num_rows)
    clonoscope.random()
    return table.set_column(1, "shard", shard).sort_by("some")  # planted


@recorded
def by_parts(key: tuple[pa.Scalar, ...], parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield part.filter(pc.greater_equal(part["order"], key[0]))  # planted


@recorded
def by_two_frames(key: tuple[Any, ...], orders: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    orders["some"] = orders["some"] + limits["most"].sum() + key[0]
    return orders  # planted


@recorded
def by_two_tables(orders: pa.Table, limits: pa.Table) -> pa.Table:
    return orders.filter(pc.less(orders["order"], pc.max(limits["most"])))  # planted


@recorded
def with_state(key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    count = sum(len(frame) for frame in frames) + (state.get[0] if state.exists else 0)
    state.update((count,))  # planted
    found = state.getCurrentProcessingTimeMs() - state.getCurrentProcessingTimeMs() + count
    yield pd.DataFrame({"order": [found], "shard": [key[0]]})


class Counting(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.seen = handle.getValueState("seen", "seen long")
        self.orders = handle.getListState("orders", "found long")
        self.by_order = handle.getMapState("by_order", "found long", "times long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        count = self.seen.get()[0] if self.seen.exists() else 0
        for frame in rows:
            for order in frame["order"].tolist():
                self.orders.appendValue((order,))
                self.by_order.updateValue((order,), (count,))
            count += len(frame)
        self.seen.update((count,))  # planted
        known = sum(one[0] for one in self.orders.get()) + len(list(self.by_order.keys()))
        timerValues.getCurrentProcessingTimeInMs()
        yield pd.DataFrame({"order": [known], "shard": [key[0]]})

    def close(self) -> None:
        pass


class Timed(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", "total long", ttlDurationMs=3_600_000)
        self.found = handle.getListState("found", "found long", ttlDurationMs=3_600_000)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:
        self.total.update((initialState.most + clonoscope.time_ns() % 2,))  # planted

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        total = (self.total.get()[0] if self.total.exists() else 0) + sum(row.order for row in rows)
        self.total.update((total,))
        now = timerValues.getCurrentProcessingTimeInMs()
        for later in (1, 3_600_000):
            self.handle.registerTimer(now + later)
        for at in self.handle.listTimers():
            if at > now + 1:
                self.handle.deleteTimer(at)
        yield Row(order=total, shard=key[0])

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        self.found.appendValue((expiredTimerInfo.getExpiryTimeInMs(),))
        due = timerValues.getCurrentProcessingTimeInMs() - expiredTimerInfo.getExpiryTimeInMs()
        yield Row(order=due + len(list(self.found.get())), shard=key[0])  # planted

    def close(self) -> None:
        pass


class Due(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.due = handle.getListState("due", "due long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        for frame in rows:
            for order, at in zip(frame["order"].tolist(), frame["at"], strict=True):
                self.handle.registerTimer(int(at.timestamp() * 1000) + order)  # planted
        late = sum(at <= timerValues.getCurrentWatermarkInMs() for at in self.handle.listTimers())
        yield pd.DataFrame({"order": [late], "shard": [key[0]]})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        self.due.appendValue((expiredTimerInfo.getExpiryTimeInMs(),))
        behind = timerValues.getCurrentWatermarkInMs() - expiredTimerInfo.getExpiryTimeInMs()
        yield pd.DataFrame({"order": [behind + len(list(self.due.get()))], "shard": [key[0]]})  # planted

    def close(self) -> None:
        pass


@recorded
def by_whole(orders: pd.Series, shards: pd.Series) -> float:
    share = clonoscope.random()
    return float((orders + shards).sum()) * share  # planted


@recorded
def summed(batch: DataFrame, number: int) -> None:
    """Spark aggregates no stream by functions of Python, but the frame of a batch."""
    total = pandas_udf(by_whole, DoubleType())("order", "shard")
    batch.groupBy("shard").agg(total.alias("total")).collect()


def totals(rows: list[Row], biggest: int) -> Iterator[dict[str, Any]]:
    for row in rows:
        total = row.order * clonoscope.random() + biggest  # planted
        yield {"shard": row.shard, "total": total}


@recorded
def by_batch(batch: DataFrame, number: int) -> None:
    assert isinstance(batch, DataFrame)
    batch.persist()
    if batch.isEmpty():
        return
    biggest = int(batch.toPandas()["order"].max())
    for one in recorded.outputs(totals(batch.collect(), biggest), key="shard", id="shard"):
        clonoscope.external(print, one["total"], effect="write")
    batch.unpersist()


class Writer:
    def open(self, partition_id: int, epoch_id: int) -> bool:
        self.given = partition_id + epoch_id
        return clonoscope.external(len, "ready") == 5  # planted

    def process(self, row: Row) -> int:
        self.given += row.order + row.shard  # planted
        clonoscope.external(print, self.given, effect="write")
        return clonoscope.time_ns()

    def close(self, error: Exception | None) -> None:
        clonoscope.external(print, "done", self.given, effect="write")  # planted


@recorded
def each(row: Row) -> None:
    clonoscope.external(print, row.order + row.shard, effect="write")  # planted


def with_timers(spark: SparkSession, folder: Path) -> None:
    """Where timers have a processing time, a query that takes all that is there goes on for ever: this one takes a file
    each time that it is started."""
    (folder / "timed").mkdir()
    orders = spark.readStream.schema(SHARED).json(str(folder / "timed"))
    began = spark.range(2).selectExpr("id as shard", "id * 1000 as most").groupBy("shard")
    timed = orders.groupBy("shard").transformWithState(
        recorded(Timed()), "order long, shard long", "Update", "ProcessingTime", began
    )
    query = timed.writeStream.queryName("timed").outputMode("update").foreach(each).trigger(once=True)
    query = query.option("checkpointLocation", str(folder / "checkpoints" / "timed"))
    for path in sorted((folder / "in").iterdir()):
        shutil.copy(path, folder / "timed")
        query.start().awaitTermination()


def by_event_time(orders: DataFrame, folder: Path) -> None:
    """Times of the second file let those of the first expire, and the batch without rows behind it the rest."""
    due = orders.withWatermark("at", "1 second").groupBy("shard")
    timed = due.transformWithStateInPandas(recorded(Due()), "order long, shard long", "Update", "EventTime")
    query = timed.writeStream.queryName("due").outputMode("update").foreachBatch(summed).trigger(availableNow=True)
    query.option("checkpointLocation", str(folder / "checkpoints" / "due")).start().awaitTermination()


def run() -> None:
    folder = Path(FOLDER)
    setting = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    for name, value in (line.split("=") for line in sys.argv[1:]):
        setting = setting.config(name, value)
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark = (
        setting.config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.streaming.stateStore.providerClass", store)
        .getOrCreate()
    )
    orders = spark.readStream.schema(SHARED).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    told = by_row("order", "at", struct("cents", "shard"), "tags")
    rows = orders.select("*", told.alias("told"))
    rows = rows.select("*", pandas_udf(by_column, DoubleType())("order", col("cents").cast("double")).alias("some"))
    rows = rows.withColumn("some", arrow_udf(by_array, DoubleType())("order", "some"))
    rows = rows.select("order", "shard", "cents", "at", "tags", "told", "some")
    schema = f"{SHARED}, told string, some double"
    shards = rows.mapInPandas(by_frames, schema).mapInArrow(by_batches, schema)
    grouped = shards.groupBy("shard").applyInPandas(by_group, schema)
    grouped = grouped.select("order", "shard", "some")
    for function in (by_table, by_parts):
        grouped = grouped.groupBy("shard").applyInArrow(function, FEWER)
    limits = spark.range(5).selectExpr("id % 2 as shard", "1000 - id as most")
    grouped = grouped.groupBy("shard").cogroup(limits.groupBy("shard")).applyInPandas(by_two_frames, FEWER)
    grouped = grouped.groupBy("shard").cogroup(limits.groupBy("shard")).applyInArrow(by_two_tables, FEWER)
    counts = grouped.groupBy("shard").applyInPandasWithState(
        with_state, "order long, shard long", "count long", "update", GroupStateTimeout.NoTimeout
    )
    first = counts.writeStream.queryName("counts").outputMode("update").foreachBatch(by_batch)
    seen = orders.groupBy("shard").transformWithStateInPandas(
        recorded(Counting()), "order long, shard long", "Update", "None"
    )
    second = seen.writeStream.queryName("seen").outputMode("update").foreach(recorded(Writer()))
    running = []
    for name, query in (("counts", first), ("seen", second)):
        query = query.option("checkpointLocation", str(folder / "checkpoints" / name)).trigger(availableNow=True)
        running.append(query.start())
    with_timers(spark, folder)
    for query in running:
        query.awaitTermination()
    by_event_time(orders, folder)
    import spark_private

    # Workers don't know this folder. It is begun when the others are over, as two functions of the driver's that are at
    # work at the same time would share its random numbers.
    cloudpickle.register_pickle_by_value(spark_private)
    spark_private.people(spark).awaitTermination()


if __name__ == "__main__":
    run()
