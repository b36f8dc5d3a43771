"""A query whose orders tell who ordered, recorded in three ways at once: nobody of them may be in what is written.

`greeted` is recorded by the daemon that the session's settings name, `by_frames` and `by_batch` are wrapped: one with
the key's file, one with the key itself, which is what the file holds. `spark_forms.py` runs it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import struct, udf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StringType

import clonoscope
from clonoscope.adapters.spark import recorder

FOLDER = Path(os.environ["FORMS"]) / "people"
ALLOWED = ["order", "id"]
KEY = FOLDER / "key"
by_file = recorder("by_file", dir=FOLDER / "recordings", payload="full", allow=ALLOWED, key=KEY)
by_bytes = recorder("by_bytes", dir=FOLDER / "recordings", payload="full", allow=ALLOWED, key=KEY.read_bytes())


def address_of(customer: str) -> dict[str, str]:
    return {"city": "Lovelace-Street", "name": customer}


def greeted(order: Any, customer: str) -> str:
    """Fails once, of a customer, and is asked again by Spark."""
    found = clonoscope.external(address_of, customer)
    marker = FOLDER / "failed"
    if order.order == 5 and not marker.exists():
        marker.touch()
        raise LookupError(f"{found['name']} is not at home")
    return found["city"]


@by_file
def by_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield from frames


@by_bytes
def by_batch(batch: DataFrame, number: int) -> None:
    for _ in by_bytes.outputs(batch.collect(), key="customer", id="order"):
        pass
    commands = (path / "cmdline" for path in Path("/proc").iterdir() if path.name.isdecimal())
    with open(FOLDER / "processes", "ab") as seen:
        for path in commands:
            try:
                seen.write(path.read_bytes())
            except OSError:
                continue  # it ended


def people(spark: SparkSession) -> StreamingQuery:
    orders = spark.readStream.schema("order long, customer string").option("maxFilesPerTrigger", 1)
    rows = orders.json(str(FOLDER / "in"))
    greeting = udf(greeted, StringType())(struct("order", "customer"), "customer")
    rows = rows.withColumn("greeting", greeting)
    rows = rows.mapInPandas(by_frames, "order long, customer string, greeting string")
    query = rows.writeStream.queryName("people").foreachBatch(by_batch).trigger(availableNow=True)
    return query.option("checkpointLocation", str(FOLDER / "checkpoint")).start()
