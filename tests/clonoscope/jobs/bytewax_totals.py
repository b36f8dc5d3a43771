"""A Bytewax dataflow that prices orders and sums them up by customer; run by `python -m bytewax.run`.

What it was given it says, a line each, so that a test can tell how far it got.
"""

import json
import os
import random

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition

import clonoscope
from clonoscope.adapters import bytewax

ORDERS, BATCH = int(os.environ["ORDERS"]), 5


def say(line):
    """In one piece, as workers are threads."""
    os.write(1, json.dumps(line).encode() + b"\n")


class Part(StatefulSourcePartition):
    """Every second order."""

    def __init__(self, partition, state):
        self.partition, self.offset = partition, state or 0

    def next_batch(self):
        first, self.offset = self.offset, min(self.offset + BATCH, ORDERS // 2)
        if first == self.offset:
            raise StopIteration
        return [2 * offset + self.partition for offset in range(first, self.offset)]

    def snapshot(self):
        return self.offset


class Orders(FixedPartitionedSource):
    def list_parts(self):
        return ["even", "odd"]

    def build_part(self, step_id, for_part, resume_state):
        return Part(int(for_part == "odd"), resume_state)


def rate(number):
    """Asked of the outside: another one each time."""
    return round(random.uniform(1, 2), 4)


def process(number):
    priced_at = clonoscope.time()
    found = clonoscope.external(rate, number)
    say([number, priced_at, found])
    return f"c{number % 5}", [number, found * (number % 3 + 1)]


class Total(StatefulLogic):
    def __init__(self, state):
        self.total = state or 0

    def on_item(self, value):
        number, price = value
        self.total += price
        return [[number, self.total]], StatefulLogic.RETAIN

    def snapshot(self):
        return self.total


class Written(StatelessSinkPartition):
    def write_batch(self, items):
        for customer, (number, total) in items:
            say({"customer": customer, "order": number, "total": total})


class Lines(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return Written()


flow = Dataflow("totals")
priced = op.map("price", op.input("orders", flow, Orders()), process)
totals = op.stateful("total", priced, Total)
op.output("out", totals, Lines())
bytewax.record("totals", flow, dir=os.environ["RECORDINGS"], operator="jobs.bytewax_totals:process")
