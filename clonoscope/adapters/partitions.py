"""Partitions of topics as tasks: an epoch begins at the record where the commit before ended, and has its offset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clonoscope import words as w
from clonoscope.json_values import json_in
from clonoscope.recording import Recording, start
from clonoscope.services import current
from clonoscope.tasks import Task
from clonoscope.unrecorded import UNRECORDED

Identify = Callable[[str, Any, Any], str | None]
"""The id of an output, of its topic, key and value: writes of one id count once."""

NOW = -1.0
"""Without a time-out, as clients have it."""
_MANY_TAKEN = w.ADVANCE_MOST << w.ADVANCE_SHIFT


class Batch(Protocol):
    """Messages that were given at once."""

    def finish(self) -> None:
        """Takes those that the job has not come to; the batch is over."""


class Partition:
    """One partition of a topic, and its task. What was committed tells where an epoch ended, on whatever machine."""

    __slots__ = ("partition", "task", "topic")

    def __init__(self, task: Task, topic: str, partition: int):
        self.task, self.topic, self.partition = task, topic, partition

    @property
    def due(self) -> int:
        """The offset that follows the last record that was taken; 0 in an attempt that took none."""
        log = self.task.log
        return log.next_offset if log.input >= 0 else 0

    def take(self, offset: int, record: Any = None, data: bytes | None = None) -> None:
        """A record was given to the job, which is at work on it from now on."""
        log = self.task.log
        if offset < self.due:
            # What it did with this record, and what followed, is done once more.
            self.task.begin_attempt(f"record {offset} is read once more")
            log = self.task.log
        if not log.in_epoch:
            self.task.begin_epoch(offset)
        self.task.take(offset, topic=self.topic, partition=self.partition, record=record, data=data)
        current.set(self.task.log)

    def committed(self, until: int) -> None:
        """The records before that offset won't be read again."""
        log = self.task.log
        if log.in_epoch and log.epoch is not None and until > log.epoch:
            self.task.end_epoch(until)

    def handed_over(self) -> None:
        """Another consumer goes on with it, or reads again what is not committed."""
        if self.task.log.in_epoch:
            self.task.begin_attempt("the partition was taken away before what it had read was committed")
        else:
            self.task.hand_over()


class Partitions:
    """All partitions of one recording, and which of them is at work."""

    def __init__(
        self,
        recording: Recording | str,
        settings: dict[str, Any],
        *,
        operator: str = "",
        outputs: bool = True,
        hashes: bool = False,
        identify: Identify | None = None,
    ):
        self.recording = start(recording, **settings) if isinstance(recording, str) else recording
        # What is retried is known again by its hash.
        self.operator, self.outputs, self.identify = operator, outputs, identify
        self.hashes = hashes or self.recording.retry is not None
        self.found: dict[tuple[str, int], Partition] = {}
        self.last: Partition | None = None
        # Whether more of a record is kept than where it stands.
        self.whole = self.hashes or self.recording.payload == "full"
        # Answers of attempts before are taken: records are compared, one by one.
        self.retried = self.recording.retry is not None

    def of(self, topic: str, partition: int) -> Partition:
        """The partition, and its task."""
        made = self.found.get((topic, partition))
        if made is None:
            task = self.recording.task(topic, partition, operator=self.operator)
            made = self.found[topic, partition] = Partition(task, topic, partition)
        return made

    def polling(self, poll: Callable[[Any], Any], open_batches: Sequence[Batch] = ()) -> Callable[..., Any]:
        """As `poll`, of a client; a message that it gives is taken, and worked on up to the next call.

        It is called for every message that is given to the job; so the way of most is written out. Batches that were
        given, and not looked through, are finished first.
        """
        get, put, many, one, progress = current.get, current.set, _MANY_TAKEN, w.ADVANCE_ONE, w.H_PROGRESS
        whole = self.whole

        def polled(timeout: Any = NOW) -> Any:
            """As the client's."""
            if open_batches:
                open_batches[-1].finish()
            message = poll(timeout)
            if message is None or message.error() is not None:
                put(UNRECORDED)
                return message
            found, offset = self.last, message.offset()
            if found is None or message.partition() != found.partition or message.topic() != found.topic:
                found = self.last = self.of(message.topic(), message.partition())
            log = found.task.log
            if whole or offset != log.next_offset or not log.in_epoch or log.input < 0 or log.adv >= many:
                self._take(found, offset, message)
                return message
            # As `Task.take`.
            log.next_offset = offset + 1
            log.adv += one
            log.taken = taken = log.taken + 1
            try:
                log.view[progress] = taken
            except IndexError:
                log.no_room()
            if get() is not log:
                put(log)
            return message

        return polled

    def _take(self, found: Partition, offset: int, message: Any) -> None:
        data = message.value() if self.hashes else None
        record = readable(message) if self.recording.payload == "full" else None
        found.take(offset, record, data if isinstance(data, bytes) else None)

    def output(self, topic: str, key: Any, value: Any, timestamp: int = 0) -> None:
        """A message was given away; it is that of the record that is being worked on."""
        found = self.last
        if self.outputs and found is not None and current.get() is found.task.log:
            named = None if self.identify is None else self.identify(topic, key, value)
            found.task.message(topic, key, value, timestamp=timestamp, id=named)

    def again(self, topic: str, partition: int) -> None:
        """The job is at work on one of its messages once more, as in a second loop over a batch."""
        self.last = self.of(topic, partition)
        current.set(self.last.task.log)

    def idle(self) -> None:
        """Nothing is being worked on: what is asked is nobody's."""
        current.set(UNRECORDED)

    def committed(self, topic: str, partition: int, until: int) -> None:
        """Of one of the partitions."""
        found = self.found.get((topic, partition))
        if found is not None:
            found.committed(until)

    def handed_over(self, topic: str, partition: int) -> None:
        """A partition is another consumer's now."""
        found = self.found.get((topic, partition))
        if found is not None:
            found.handed_over()


def readable(message: Any) -> list[Any]:
    """A message as a record: JSON where it is, so that what is to be redacted is found in it, else text."""
    _, timestamp = message.timestamp()
    return [_readable(message.key()), timestamp, _readable(message.value())]


def _readable(data: Any) -> Any:
    if isinstance(data, bytes):
        try:
            return json_in(data.decode())
        except UnicodeDecodeError:
            return data
    return data
