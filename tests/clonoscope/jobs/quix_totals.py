"""A Quix Streams job that prices orders and sums them up by customer.

`python quix_totals.py BROKER FOLDER STATE ORDERS`.
What it was given it says, a line each, so that a test can tell how far it got.
"""

import json
import random
import sys

from quixstreams import Application, State, message_context
from quixstreams.sinks.core.list import ListSink

import clonoscope
from clonoscope.adapters import quix
from tests.clonoscope.jobs.quix_topics import topics_of


def rate(item: str) -> float:
    """Asked of the outside: another one each time."""
    return round(random.uniform(1, 2), 4)


def process(order: dict, state: State) -> dict:
    priced_at = clonoscope.time()
    found = clonoscope.external(rate, order["item"])
    total = state.get("total", 0) + found * order["count"]
    state.set("total", total)
    here = message_context()
    print(json.dumps([here.partition, here.offset, priced_at, found]), flush=True)
    return {"order": order["order"], "total": total, "at": priced_at, "of": [here.partition, here.offset]}


def main(broker: str, folder: str, state: str, orders: str) -> None:
    # A killed member is given up soon, so that its partitions come back.
    group = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    app = Application(
        broker_address=broker,
        consumer_group="totals",
        auto_offset_reset="earliest",
        # By the number of records alone, so that a test knows when.
        commit_every=10,
        commit_interval=3600,
        state_dir=state,
        loglevel="ERROR",
        topic_manager=topics_of(broker, "totals"),
        consumer_extra_config=group,
    )
    app = quix.record("totals", app, dir=folder, operator="jobs.quix_totals:process")
    orders_in, totals = app.topic("orders"), app.topic("totals")
    frame = app.dataframe(orders_in)
    frame = frame.apply(process, stateful=True)
    frame.to_topic(totals)
    frame.sink(ListSink())
    app.run(count=int(orders))


if __name__ == "__main__":
    main(*sys.argv[1:])
