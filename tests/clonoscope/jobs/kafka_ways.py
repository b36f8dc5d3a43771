"""The ways in which a consumer may read and commit. `python kafka_ways.py WAY BROKER FOLDER`."""

import json
import sys
import threading
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

import clonoscope
from clonoscope.adapters import kafka

FEW = 5
# A member that left is gone at once.
GROUP = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 300, "auto.offset.reset": "earliest"}


def clients(broker, folder, group, *, more=None, **settings):
    fixed = {"bootstrap.servers": broker, "group.id": group, "enable.auto.commit": False} | GROUP | (more or {})
    producer = Producer({"bootstrap.servers": broker, "transactional.id": group})
    return kafka.record("ways", Consumer(fixed), producer, dir=folder, **settings)


def take(consumer, count):
    """So many messages, each of which asks for a number."""
    found = []
    while len(found) < count:
        message = consumer.poll(10)
        assert message is not None and message.error() is None, message
        clonoscope.random()
        found.append(message)
    return found


def assigned(consumer):
    consumer.assign([TopicPartition("orders", 0, OFFSET_BEGINNING)])


def batches(broker, folder):
    """One is looped over, one left in the middle, one looked at by its places; one commit is not waited for."""
    consumer, _ = clients(broker, folder, "batches")
    assigned(consumer)
    for message in consumer.consume(FEW, 10):
        assert message.error() is None
        clonoscope.random()
    consumer.commit()
    for _ in consumer.consume(FEW, 10):
        clonoscope.random()
        break
    assert len(consumer.consume(FEW, 10)) == FEW
    consumer.commit(asynchronous=False)
    consumer.close()


def again(broker, folder):
    """Goes back to a record before what is committed, and to one after."""
    consumer, _ = clients(broker, folder, "again")
    assigned(consumer)
    take(consumer, FEW)
    consumer.commit(asynchronous=False)
    take(consumer, FEW)
    consumer.seek(TopicPartition("orders", 0, FEW))
    take(consumer, FEW)
    consumer.seek(TopicPartition("orders", 0, 0))
    take(consumer, 1)
    consumer.close()


def stored(broker, folder):
    """Commits what it stored, and not what it read."""
    consumer, _ = clients(broker, folder, "stored", more={"enable.auto.offset.store": False})
    assigned(consumer)
    found = take(consumer, FEW)
    consumer.store_offsets(message=found[-1])
    consumer.commit(asynchronous=False)
    take(consumer, FEW)
    consumer.close()


def transactions(broker, folder):
    """What is read is committed with what is written; a transaction that is aborted commits nothing."""
    consumer, producer = clients(broker, folder, "transactions", identify=lambda topic, key, value: key.decode())
    producer.init_transactions(30)
    assigned(consumer)
    for ending in ("commit_transaction", "abort_transaction", "commit_transaction"):
        producer.begin_transaction()
        for message in take(consumer, FEW):
            producer.produce("prices", message.value(), message.key())
        at = consumer.position([TopicPartition("orders", 0)])
        producer.send_offsets_to_transaction(at, consumer.consumer_group_metadata(), 30)
        producer.flush(30)
        getattr(producer, ending)(30)
        if ending == "abort_transaction":
            consumer.seek(TopicPartition("orders", 0, at[0].offset - FEW))
    consumer.close()


def by_itself(broker, folder):
    """The client commits, and tells."""
    more = {"enable.auto.commit": True, "auto.commit.interval.ms": 100, "on_commit": kafka.on_commit}
    consumer, _ = clients(broker, folder, "by-itself", more=more)
    assigned(consumer)
    take(consumer, FEW)
    task = consumer._partitions.of("orders", 0).task
    until = time.monotonic() + 30
    while task.log.in_epoch and time.monotonic() < until:
        # What the client tells is told within a poll; nothing is read meanwhile.
        consumer.pause([TopicPartition("orders", 0)])
        consumer.poll(0.1)
    assert not task.log.in_epoch
    consumer.resume([TopicPartition("orders", 0)])
    take(consumer, FEW)
    consumer.close()


def rebalance(broker, folder):
    """A second member takes one of the partitions, and gives it back when it leaves."""
    first, _ = clients(broker, folder, "rebalance")
    told = []
    first.subscribe(["orders"], on_revoke=lambda consumer, places: told.append(len(places)))
    take(first, FEW)
    held = len(first.assignment())
    second = Consumer({"bootstrap.servers": broker, "group.id": "rebalance"} | GROUP)
    second.subscribe(["orders"])
    while len(first.assignment()) in (0, held) or not second.assignment():
        first.poll(0.1)
        second.poll(0.1)
    second.close()
    first.close()
    assert told


def threads(broker, folder):
    """Two consumers of one recording, each read in a thread of its own, which take turns."""
    plain = {"bootstrap.servers": broker, "group.id": "threads", "enable.auto.commit": False}
    producer = Producer({"bootstrap.servers": broker})
    first, second, producer = kafka.record("ways", Consumer(plain), Consumer(plain), producer, dir=folder)
    turn = threading.Barrier(2)

    def work(consumer, partition):
        consumer.assign([TopicPartition("orders", partition, 0)])
        for _ in range(FEW):
            (message,) = take(consumer, 1)
            turn.wait()  # the other has taken its record by now
            producer.produce("prices", message.value(), str(partition))
            turn.wait()

    both = [threading.Thread(target=work, args=(one, number)) for number, one in enumerate((first, second))]
    for one in both:
        one.start()
    for one in both:
        one.join()
    first.close()
    second.close()


def whole(broker, folder):
    """Records whole, with hashes."""
    consumer, _ = clients(broker, folder, "whole", payload="full", hashes=True, redact=["item"])
    assigned(consumer)
    take(consumer, FEW)
    consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print(json.dumps("done"))
