"""Quix Streams: each partition of an application's topics is a task, and a checkpoint that is committed ends an epoch.

app = quix.record("orders", Application(...))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from traceback import walk_tb
from types import CodeType, TracebackType
from typing import Any

from clonoscope.adapters.partitions import NOW, Identify, Partitions
from clonoscope.errors import WrongUse
from clonoscope.recording import Recording
from clonoscope.services import current
from clonoscope.task_log import TaskLog
from replay.model import read_json

# What of an application is taken over, each before it runs.
_PARTS = (
    "_consumer",
    "_producer",
    "_processing_context",
    "_process_message",
    "_exception_handler",
    "_on_assign",
    "_on_revoke",
    "_on_lost",
)

# Of its consumer, what gives messages as the broker has them.
_POLLS = ("_poll_unbuffered", "_poll_buffered")


def record(
    recording: Recording | str,
    app: Any,
    *,
    operator: str = "",
    outputs: bool = True,
    hashes: bool = False,
    states: bool = True,
    identify: Identify | None = None,
    **settings: Any,
) -> Any:
    """Makes an application record what goes through it, and gives it back. Call it before `run`.

    `recording` is one that was started, or the name of one, started with the `settings`. `outputs`: whether what
    leaves for topics and sinks is recorded. `hashes`: whether the records of an epoch are hashed. `states`: whether
    what a checkpoint changed in the stores is. `identify` gives an output's id. Raises `WrongUse` for what is none.
    """
    missing = [name for name in _PARTS if not hasattr(app, name)]
    missing += [name for name in _POLLS if not hasattr(getattr(app, "_consumer", None), name)]
    if missing:
        raise WrongUse(
            f"{type(app).__qualname__} is no application of Quix Streams that this recorder knows (no {missing[0]})",
            remedy="Give a quixstreams.Application of version 3",
        )
    partitions = Partitions(recording, settings, operator=operator, outputs=outputs, hashes=hashes, identify=identify)
    _Recorded(app, partitions, states).begin()
    return app


class _Recorded:
    """An application's own methods, and what is recorded around them."""

    def __init__(self, app: Any, partitions: Partitions, states: bool):
        self.app, self.partitions, self.states = app, partitions, states
        self.begins = True
        # The log of the record that is worked on, while the next is taken as that was.
        self.log: TaskLog | None = None
        # Whether messages of several partitions may come, and of several topics.
        self.partitions_differ = self.topics_differ = True

    def begin(self) -> None:
        app = self.app
        context, producer = app._processing_context, app._producer
        app._exception_handler = self._failing(app._exception_handler, app._process_message.__code__)
        app._on_assign = self._assigning(app._on_assign)
        app._on_revoke = self._revoking(app._on_revoke)
        app._on_lost = self._revoking(app._on_lost)
        for name in _POLLS:
            # What is asked while a message is processed is asked in a copy of this context.
            setattr(app._consumer, name, self._polling(getattr(app._consumer, name)))
        context.init_checkpoint = self._beginning(context.init_checkpoint)
        app._consumer.commit = self._committing(app._consumer.commit, lambda *_, offsets=None, **__: offsets)
        producer.commit_transaction = self._committing(producer.commit_transaction, lambda offsets, *_, **__: offsets)
        if self.partitions.outputs:
            producer.produce = self._producing(producer.produce)

    # --- records: one is worked on until the next is asked for, or something else is done ---

    def _polling(self, poll: Callable[[Any], Any]) -> Callable[..., Any]:
        """As `Partitions.polling`, of messages that the application has found to be good, in its one thread. What is
        asked on the way comes seldom enough to be slow each time: so as little as can be is looked at."""
        partitions = self.partitions
        topic, partition = "", -1

        def polled(timeout: Any = NOW) -> Any:
            nonlocal topic, partition
            message = poll(timeout)
            if message is None:
                self._idle()
                return message
            log, offset = self.log, message.offset()
            if (
                log is None
                or offset != log.next_offset
                or (
                    self.partitions_differ
                    and (message.partition() != partition or (self.topics_differ and message.topic() != topic))
                )
            ):
                topic, partition = message.topic(), message.partition()
                taken = partitions.take(topic, partition, message)
                self.log = None if partitions.whole else taken
                return message
            log.take(log.input, offset)
            return message

        return polled

    def _idle(self) -> None:
        self.log = None
        self.partitions.idle()

    def _beginning(self, begin: Callable[[], None]) -> Callable[[], None]:
        """Of a checkpoint; that of the first one finds the application whole."""

        def recorded() -> None:
            begin()
            if self.begins:
                self.begins = False
                self._take_over_sinks(self.app._sink_manager.sinks)
                tasks = getattr(self.app._dataframe_registry, "_periodic_tasks", [])
                tasks[:] = map(self._idly, tasks)
            checkpoint = self.app._processing_context.checkpoint
            checkpoint.commit = self._idly(checkpoint.commit)

        return recorded

    def _idly(self, do: Callable[..., Any]) -> Callable[..., Any]:
        """What is no record's doing."""

        def idly(*arguments: Any, **keywords: Any) -> Any:
            self._idle()
            return do(*arguments, **keywords)

        return idly

    def _failing(self, handler: Callable[..., Any], processing: CodeType) -> Callable[..., Any]:
        """At whatever ends the application: of what comes of processing a record, its task fails."""

        def recorded(kind: Any, fault: BaseException | None, trace: TracebackType | None) -> Any:
            at_work = self.partitions.last
            if fault is not None and at_work is not None and current.get() is at_work.task.log:
                self._idle()
                if any(frame.f_code is processing for frame, _ in walk_tb(trace)):
                    at_work.task.fail(fault)
            return handler(kind, fault, trace)

        return recorded

    # --- outputs ---

    def _producing(self, produce: Callable[..., Any]) -> Callable[..., Any]:
        output = self.partitions.output

        def recorded(topic: str, value: Any = None, key: Any = None, *more: Any, **keywords: Any) -> Any:
            done = produce(topic, value, key, *more, **keywords)
            # Changes of state are produced at a checkpoint, when no record is being worked on.
            output(topic, key, value, keywords.get("timestamp") or 0)
            return done

        return recorded

    def _take_over_sinks(self, sinks: Iterable[Any]) -> None:
        for sink in sinks if self.partitions.outputs else ():
            sink.add = self._adding(sink.add, type(sink).__qualname__)

    def _adding(self, add: Callable[..., Any], name: str) -> Callable[..., Any]:
        output = self.partitions.output

        def recorded(value: Any, key: Any, timestamp: int, *more: Any, **keywords: Any) -> Any:
            done = add(value, key, timestamp, *more, **keywords)
            output(name, key, value, timestamp)
            return done

        return recorded

    # --- checkpoints ---

    def _committing(self, commit: Callable[..., Any], of: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*arguments: Any, **keywords: Any) -> Any:
            places = [(one.topic, one.partition, one.offset) for one in of(*arguments, **keywords) or ()]
            changes = self._changes() if self.states else {}
            done = commit(*arguments, **keywords)
            self.log = None
            for topic, partition, until in places:
                # A checkpoint commits when its producer and its sinks have sent all that they were given.
                self.partitions.of(topic, partition).task.sent()
                changed = changes.get((topic, partition))
                if changed:
                    self.partitions.of(topic, partition).task.state(until, changed)
                self.partitions.committed(topic, partition, until)
            return done

        return recorded

    def _changes(self) -> dict[tuple[str, int], dict[str, Any]]:
        """What the checkpoint changes in the stores of each partition. It is read before the stores flush it."""
        found: dict[tuple[str, int], dict[str, Any]] = {}
        context = self.app._processing_context
        for (stream, partition, store), transaction in context.checkpoint._store_transactions.items():
            if transaction.changed:
                changes = _changes_of(transaction._update_cache)
                for topic in context.dataframe_registry.get_topics_for_stream_id(stream_id=stream):
                    found.setdefault((topic, partition), {})[store] = changes
        return found

    # --- rebalances ---

    def _assigning(self, assign: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def recorded(consumer: Any, places: Any) -> None:
            self._idle()
            self.partitions_differ = self.topics_differ = True
            assign(consumer, places)
            read = self.app._dataframe_registry.consumer_topics
            # Besides them there are changelogs, of which nothing is given to the job.
            all_places = [one for one in self.app._consumer.assignment() if one.topic in read]
            self.partitions_differ = len(all_places) != 1
            self.topics_differ = len(read) > 1

        return recorded

    def _revoking(self, revoke: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def recorded(consumer: Any, places: Any) -> None:
            self._idle()
            try:
                revoke(consumer, places)
            finally:
                for place in places:
                    self.partitions.handed_over(place.topic, place.partition)

        return recorded


def _changes_of(cache: Any) -> dict[str, Any]:
    """Of a store: keys and what they hold now, and those that are gone; of each column family but the default."""
    found: dict[str, Any] = {}
    for family in sorted(cache.get_column_families()):
        changed = {
            _key(key): _value(value) for held in cache.get_updates(family).values() for key, value in held.items()
        }
        deleted = sorted(_key(key) for key in cache.get_deletes(family))
        if changed or deleted:
            found[family] = {"changed": changed, "deleted": deleted}
    return found


def _key(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _value(data: Any) -> Any:
    """Stores hold JSON, unless they are told otherwise."""
    try:
        return read_json(data) if isinstance(data, bytes) else data
    except ValueError:
        return data
