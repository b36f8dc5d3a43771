"""librdkafka's own test broker in a process, with orders in a topic. Says its address, then what it is asked for.

`python broker.py ORDERS`; on its input: `read TOPIC COUNT` gives so many messages of a topic, a line each;
`committed GROUP` how many orders a group is through with; `dump TOPIC FILE` writes all of it as `kcat -C -e -J` does.
"""

import json
import sys
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

PARTITIONS = 2


def main() -> None:
    made = Producer({"test.mock.num.brokers": 1})
    (address,) = [str(one) for one in made.list_topics(timeout=30).brokers.values()]
    address = address.partition("/")[0]
    for number in range(int(sys.argv[1])):
        order = json.dumps({"order": number, "item": f"sku-{number % 7}", "count": number % 3 + 1})
        made.produce("orders", order.encode(), f"c{number % 5}".encode(), number % PARTITIONS)
    made.flush()
    print(address, flush=True)
    for line in sys.stdin:
        match line.split():
            case ["read", topic, count]:
                for message in messages(address, topic, int(count)):
                    print(json.dumps(message), flush=True)
            case ["committed", group]:
                print(committed(address, group), flush=True)
            case ["dump", topic, path]:
                print(dump(address, topic, path), flush=True)


def committed(address: str, group: str) -> int:
    """How many orders a group is through with."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": group})
    places = [TopicPartition("orders", one) for one in range(PARTITIONS)]
    return sum(max(one.offset, 0) for one in consumer.committed(places, timeout=30))


def messages(address: str, topic: str, count: int) -> list[Any]:
    """In the order of partitions and offsets."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "the-test", "auto.offset.reset": "earliest"})
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, one, OFFSET_BEGINNING) for one in partitions])
    found: list[Any] = []
    while len(found) < count:
        message = consumer.poll(30)
        if message is None or message.error():
            raise SystemExit(f"{topic}: {message and message.error()} after {len(found)} messages")
        found.append([message.partition(), message.offset(), message.key().decode(), json.loads(message.value())])
    consumer.close()
    return sorted(found, key=lambda one: one[:2])


def dump(address: str, topic: str, path: str) -> int:
    """How many messages, up to the end of each partition."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "the-dump", "enable.partition.eof": True})
    partitions = set(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, one, OFFSET_BEGINNING) for one in partitions])
    count = 0
    with open(path, "w", encoding="utf-8") as out:
        while partitions:
            message = consumer.poll(30)
            if message is None:
                raise SystemExit(f"{topic}: nothing comes, and no end")
            if message.error():
                if message.error().code() != KafkaError._PARTITION_EOF:
                    raise SystemExit(f"{topic}: {message.error()}")
                partitions.discard(message.partition())
            else:
                print(json.dumps(as_kcat_writes(message)), file=out)
                count += 1
    consumer.close()
    return count


def as_kcat_writes(message: Any) -> dict[str, Any]:
    headers = [text for name, value in message.headers() or () for text in (name, value.decode())]
    head = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    head |= {"tstype": "create", "ts": message.timestamp()[1], "broker": 1}
    key, value = (None if one is None else one.decode() for one in (message.key(), message.value()))
    return head | ({"headers": headers} if headers else {}) | {"key": key, "payload": value}


if __name__ == "__main__":
    main()
