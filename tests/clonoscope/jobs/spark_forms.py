"""Functions of every form that Spark calls, in a module that can be imported where Spark is not; `run` is the job.

`FORMS=FOLDER python spark_forms.py SETTING=VALUE…`. What is commented as `planted` is what tests change.
"""

import datetime
import decimal
import os
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
from pyspark.sql.functions import col, pandas_udf, struct, udf
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import DoubleType, StringType

import clonoscope
from clonoscope.adapters.spark import recorder

SHARED = "order long, shard long, cents decimal(10,2), at timestamp, tags array<string>"
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
        self.given = 0
        return True

    def process(self, row: Row) -> None:
        self.given += row.order + row.shard
        clonoscope.external(print, self.given, effect="write")


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
    rows = rows.select("order", "shard", "cents", "at", "tags", "told", "some")
    schema = f"{SHARED}, told string, some double"
    shards = rows.mapInPandas(by_frames, schema).mapInArrow(by_batches, schema)
    grouped = shards.groupBy("shard").applyInPandas(by_group, schema)
    counts = grouped.groupBy("shard").applyInPandasWithState(
        with_state, "order long, shard long", "count long", "update", GroupStateTimeout.NoTimeout
    )
    first = counts.writeStream.queryName("counts").outputMode("update").foreachBatch(by_batch)
    seen = orders.groupBy("shard").transformWithStateInPandas(
        recorded(Counting()), "order long, shard long", "Update", "None"
    )
    second = seen.writeStream.queryName("seen").outputMode("update").foreach(recorded(Writer()))
    for name, query in (("counts", first), ("seen", second)):
        query.option("checkpointLocation", str(folder / "checkpoints" / name)).trigger(availableNow=True).start()
    for running in spark.streams.active:
        running.awaitTermination()
    import spark_private

    # Workers don't know this folder. It is begun when the others are over, as two functions of the driver's that are at
    # work at the same time would share its random numbers.
    cloudpickle.register_pickle_by_value(spark_private)
    spark_private.people(spark).awaitTermination()


if __name__ == "__main__":
    run()
