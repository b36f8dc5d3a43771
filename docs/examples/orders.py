"""A stream of orders that get their price from the shop and are written back to it. Three lines make it record itself.

`python docs/examples/orders.py FOLDER SHOP [replay]`: orders lie in FOLDER/in as JSON lines, SHOP is an address. There
`GET /price/<sku>` tells a price, `POST /orders` takes an order (what comes twice is there twice, if the shop does not
know it by its number), and `POST /batches` is told of each batch that is through. With `replay`, a batch that runs
again is given the answers that it was given, and the shop is one that knows orders by their numbers.
"""

import json
import sys
import urllib.request
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import DoubleType

import clonoscope
from clonoscope.adapters.spark import recorder

FOLDER, SHOP = sys.argv[1:3]
retry: Any = sys.argv[3] if sys.argv[3:] else None
recorded = recorder("orders", dir=f"{FOLDER}/recordings", payload="full", retry=retry)


def ask(path: str, content: Any = None) -> Any:
    """The shop's answer."""
    data = None if content is None else json.dumps(content).encode()
    with urllib.request.urlopen(f"{SHOP}/{path}", data) as answer:
        return json.load(answer)


@udf(DoubleType())
@recorded
def price(sku: str) -> float:
    """Of today: it may be another one when it is asked for again."""
    found: float = clonoscope.external(ask, f"price/{sku}")
    return found


@recorded
def write(batch: DataFrame, number: int) -> None:
    """To the shop, one by one."""
    for order in recorded.outputs(batch.collect(), key="order", id="order" if retry else ""):
        ask("orders", order.asDict())
    ask("batches", number)


def main() -> None:
    """Everything that is there; where it was left, if it was ended before."""
    spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
    orders = spark.readStream.schema("order long, sku string").option("maxFilesPerTrigger", 1).json(f"{FOLDER}/in")
    priced = orders.withColumn("price", price("sku"))
    query = priced.writeStream.queryName("orders").foreachBatch(write).trigger(availableNow=True)
    query.option("checkpointLocation", f"{FOLDER}/checkpoint").start().awaitTermination()


if __name__ == "__main__":
    main()
