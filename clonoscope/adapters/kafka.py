"""A plain consumer of Kafka, of confluent-kafka: each of its partitions is a task, and a commit completes an epoch.

consumer, producer = kafka.record("orders", consumer, producer)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from clonoscope.adapters.partitions import NOW, Identify, Partition, Partitions
from clonoscope.errors import WrongUse
from clonoscope.recording import Recording
from clonoscope.services import current
from clonoscope.unrecorded import UNRECORDED


def record(
    recording: Recording | str,
    *clients: Any,
    operator: str = "",
    outputs: bool = True,
    hashes: bool = False,
    identify: Identify | None = None,
    **settings: Any,
) -> Any:
    """Gives consumers and producers that record what goes through them; one alone, or a tuple in the same order.

    `recording` is one that was started, or the name of one, started with the `settings`. `operator` is where the
    job's function stands. `outputs`: whether what is produced is recorded too. `hashes`: whether the records of an
    epoch are hashed. `identify` gives an output's id. Raises `WrongUse` for what is no client.
    """
    for client in clients:
        if not hasattr(client, "subscribe") and not hasattr(client, "produce"):
            raise WrongUse(
                f"{type(client).__qualname__} is no client of Kafka",
                remedy="Give confluent_kafka.Consumer and confluent_kafka.Producer",
            )
    if not clients:
        raise WrongUse("no client is given", remedy="Name the consumer, and the producer if there is one")
    partitions = Partitions(recording, settings, operator=operator, outputs=outputs, hashes=hashes, identify=identify)
    made = tuple(
        RecordedConsumer(client, partitions) if hasattr(client, "subscribe") else RecordedProducer(client, partitions)
        for client in clients
    )
    return made[0] if len(made) == 1 else made


def on_commit(fault: Any, offsets: Any) -> None:
    """What the client commits by itself (`enable.auto.commit`) is known where the consumer's settings name this."""
    if fault is None:
        for consumer in list(_CONSUMERS):
            consumer.committed_by_itself(offsets)


class RecordedConsumer:
    """Stands for a consumer; all that is not overridden is the consumer's own."""

    def __init__(self, consumer: Any, partitions: Partitions):
        self._consumer, self._partitions = consumer, partitions
        self._batches: list[Messages] = []
        self.poll = partitions.polling(consumer.poll, self._batches)
        self._take = partitions.polling(_itself)
        # Where a job stores offsets itself: these, and not what was read, are what a commit commits.
        self._stored: dict[tuple[str, int], int] = {}
        _CONSUMERS.add(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    # --- what is taken ---

    def consume(self, num_messages: int = 1, timeout: float = NOW) -> Messages:
        """As the consumer's. Messages are taken as they are iterated over."""
        self._finish_batch()
        self._partitions.idle()
        messages = self._consumer.consume(num_messages, timeout)
        batch = Messages(messages, self._partitions, self._take, self._batches)
        self._batches.append(batch)
        return batch

    def _finish_batch(self) -> None:
        for batch in self._batches:
            batch.finish()

    # --- what is committed ---

    def commit(self, *arguments: Any, **keywords: Any) -> Any:
        """As the consumer's. Of one that is not waited for, that it was asked is all that is known."""
        for batch in self._batches:
            if not batch.given:
                batch.take_all()  # the job looks at them in another way
        log = current.get()
        current.set(UNRECORDED)
        asked = self._asked(*arguments, **keywords)
        try:
            done = self._consumer.commit(*arguments, **keywords)
        finally:
            current.set(log)
        for place in asked if done is None else _places(done):
            self._partitions.committed(*place)
        return done

    def _asked(self, message: Any = None, offsets: Any = None, *_: Any, **__: Any) -> list[tuple[str, int, int]]:
        if message is not None:
            return [(message.topic(), message.partition(), message.offset() + 1)]
        if offsets is not None:
            return _places(offsets)
        found = self._partitions.found
        read = {place: found[place].due for place in found if found[place].task.log.in_epoch}
        return [(*place, until) for place, until in (self._stored or read).items()]

    def store_offsets(self, message: Any = None, offsets: Any = None) -> Any:
        """As the consumer's."""
        if message is not None:
            done = self._consumer.store_offsets(message=message)
            self._stored[message.topic(), message.partition()] = message.offset() + 1
        else:
            done = self._consumer.store_offsets(offsets=offsets)
            self._stored.update(((topic, partition), until) for topic, partition, until in _places(offsets))
        return done

    def committed_by_itself(self, offsets: Any) -> None:
        """The client told of it."""
        for place in _places(offsets):
            self._partitions.committed(*place)

    # --- who has which partitions ---

    def subscribe(self, topics: Any, on_assign: Any = None, on_revoke: Any = None, **listeners: Any) -> Any:
        """As the consumer's. A partition that is taken away ends its task's attempt."""
        if on_assign is not None:
            listeners["on_assign"] = self._told(on_assign)
        if listeners.get("on_lost") is not None:
            listeners["on_lost"] = self._told(listeners["on_lost"], self._handed_over)
        listeners["on_revoke"] = self._told(on_revoke, self._handed_over)
        return self._consumer.subscribe(topics, **listeners)

    def _told(self, listener: Any, then: Callable[[Any], None] | None = None) -> Callable[[Any, Any], None]:
        def told(_: Any, places: Any) -> None:
            self._partitions.idle()
            try:
                if listener is not None:
                    listener(self, places)
            finally:
                if then is not None:
                    then(places)

        return told

    def _handed_over(self, places: Any) -> None:
        for place in places:
            self._partitions.handed_over(place.topic, place.partition)

    def close(self) -> Any:
        """As the consumer's."""
        self._finish_batch()
        self._partitions.idle()
        return self._consumer.close()


class RecordedProducer:
    """Stands for a producer; all that is not overridden is the producer's own."""

    def __init__(self, producer: Any, partitions: Partitions):
        self._producer, self._partitions = producer, partitions
        # Of which partitions it was given something since it had sent all.
        self._given: set[Partition | None] = set()
        self._in_transaction = False
        _PRODUCERS.add(self)
        # What a job calls for every record, so that it does not go by way of `__getattr__`.
        self.produce = self._producing(producer.produce) if partitions.outputs else producer.produce
        if hasattr(producer, "poll"):
            self.poll = producer.poll
        self._sent: list[tuple[str, int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def __len__(self) -> int:
        return len(self._producer)

    def _producing(self, produce: Callable[..., Any]) -> Callable[..., Any]:
        output, given = self._partitions.output, self._given

        def produced(topic: str, value: Any = None, key: Any = None, *more: Any, **keywords: Any) -> Any:
            """As the producer's. What it refuses is not recorded."""
            done = produce(topic, value, key, *more, **keywords)
            given.add(output(topic, key, value, keywords.get("timestamp", 0)))
            return done

        return produced

    # --- what has left ---

    def flush(self, *arguments: Any, **keywords: Any) -> Any:
        """As the producer's. With nothing left in it, all was sent that it was handed; what is in a transaction leaves
        when that is committed."""
        left = self._producer.flush(*arguments, **keywords)
        if not left and not self._in_transaction:
            self._sent_all()
        return left

    def _sent_all(self) -> None:
        """What another producer has still of a partition's isn't known: nothing is said of that."""
        given, others = set(self._given), [one for one in _PRODUCERS if one is not self]
        self._given.clear()
        for partition in given:
            if partition is None or any(partition in one._given for one in others):
                continue
            if self._partitions.aborted.get(partition) is not partition.task.log:
                partition.task.sent()

    # --- transactions, which commit what was read as well ---

    def begin_transaction(self) -> Any:
        """As the producer's."""
        self._sent.clear()
        done = self._producer.begin_transaction()
        self._in_transaction = True
        return done

    def send_offsets_to_transaction(self, positions: Any, *more: Any, **keywords: Any) -> Any:
        """As the producer's."""
        done = self._producer.send_offsets_to_transaction(positions, *more, **keywords)
        self._sent += _places(positions)
        return done

    def commit_transaction(self, *arguments: Any) -> Any:
        """As the producer's. What was read is committed with it."""
        done = self._producer.commit_transaction(*arguments)
        self._in_transaction = False
        self._sent_all()
        for place in self._sent:
            self._partitions.committed(*place)
        self._sent.clear()
        return done

    def abort_transaction(self, *arguments: Any) -> Any:
        """As the producer's. Some of what these attempts gave never leaves: of nothing more is it said that it has."""
        done = self._producer.abort_transaction(*arguments)
        self._in_transaction = False
        for partition in self._given:
            if partition is not None:
                self._partitions.aborted[partition] = partition.task.log
        self._given.clear()
        return done


_CONSUMERS: weakref.WeakSet[RecordedConsumer] = weakref.WeakSet()
_PRODUCERS: weakref.WeakSet[RecordedProducer] = weakref.WeakSet()


class Messages(list[Any]):
    """What was consumed at once. The job is at work on a message from when it is iterated to."""

    def __init__(self, messages: Any, partitions: Partitions, take: Callable[[Any], Any], open_batches: list[Messages]):
        super().__init__(messages)
        self._partitions, self._take, self._open = partitions, take, open_batches
        self.given = 0

    def __iter__(self) -> Iterator[Any]:
        for place in range(len(self)):
            self._give(place)
            yield self[place]

    def _give(self, place: int) -> None:
        message = self[place]
        if place >= self.given or message.error() is not None:
            self._take(message)
        else:  # iterated over once more
            self._partitions.again(message.topic(), message.partition())
        self.given = max(self.given, place + 1)

    def take_all(self) -> None:
        """Those that were never iterated to were taken all the same."""
        for place in range(self.given, len(self)):
            self._give(place)

    def finish(self) -> None:
        """The job asks for what follows."""
        self._open.clear()
        self.take_all()


def _itself(message: Any) -> Any:
    return message


def _places(offsets: Any) -> list[tuple[str, int, int]]:
    """Topics, partitions and offsets; without those that failed, or that stand for no offset."""
    found = [(one.topic, one.partition, one.offset) for one in offsets or () if one.error is None]
    return [one for one in found if one[2] >= 0]
