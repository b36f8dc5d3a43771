"""A plain Kafka job that prices orders. `python kafka_prices.py BROKER FOLDER [replay]`.

What it was given it says, a line each, so that a test can tell how far it got.
"""

import json
import random
import sys

from confluent_kafka import Consumer, KafkaError, Producer

import clonoscope
from clonoscope.adapters import kafka

COMMIT_EVERY = 10


def rate(item: str) -> float:
    """Asked of the outside: another one each time."""
    return round(random.uniform(1, 2), 4)


def process(message, producer) -> None:
    order = json.loads(message.value())
    priced_at = clonoscope.time()
    found = clonoscope.external(rate, order["item"])
    line = json.dumps({"order": order["order"], "price": found * order["count"], "at": priced_at})
    # Which order a price is of, for whoever looks at the topic.
    headers = [("partition", str(message.partition())), ("offset", str(message.offset()))]
    producer.produce("prices", line.encode(), message.key(), headers=headers)
    print(json.dumps([message.partition(), message.offset(), priced_at, found]), flush=True)


def main(broker: str, folder: str, retry: str | None = None) -> None:
    # A killed member is given up soon, so that its partitions come back.
    group = {"group.id": "pricing", "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    settings = group | {"bootstrap.servers": broker, "enable.auto.commit": False}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest", "enable.partition.eof": True})
    producer = Producer({"bootstrap.servers": broker})
    settings = {"dir": folder, "operator": "jobs.kafka_prices:process", "retry": retry}
    consumer, producer = kafka.record("prices", consumer, producer, **settings)
    consumer.subscribe(["orders"])
    done, ended = 0, set()
    while len(ended) < len(consumer.assignment()) or not consumer.assignment():
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            ended.add(message.partition())
            continue
        process(message, producer)
        done += 1
        if done % COMMIT_EVERY == 0:
            producer.flush()
            consumer.commit(asynchronous=False)
    producer.flush()
    if done % COMMIT_EVERY:
        consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
