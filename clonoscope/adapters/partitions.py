"""Partitions of topics as tasks: an epoch begins at the record where the commit before ended, and has its offset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clonoscope.json_values import json_in
from clonoscope.recording import Recording, start
from clonoscope.services import current
from clonoscope.shapes import vertex_called
from clonoscope.task_log import TaskLog
from clonoscope.tasks import Task
from clonoscope.unrecorded import UNRECORDED

Identify = Callable[[str, Any, Any], str | None]
"""The id of an output, of its topic, key and value: writes of one id count once."""

NOW = -1.0
"""Without a time-out, as clients have it."""


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
        # Logs that hold outputs of a transaction that was aborted.
        self.aborted: dict[Partition, Any] = {}
        # Whether more of a record is kept than where it stands.
        self.whole = self.hashes or self.recording.payload == "full"
        # Answers of attempts before are taken: records are compared, one by one.
        self.retried = self.recording.retry is not None

    def of(self, topic: str, partition: int) -> Partition:
        """The partition, and its task."""
        made = self.found.get((topic, partition))
        if made is None:
            task = self.recording.task(vertex_called(topic), partition, operator=self.operator)
            made = self.found[topic, partition] = Partition(task, topic, partition)
        return made

    def polling(self, poll: Callable[[Any], Any], open_batches: Sequence[Batch] = ()) -> Callable[..., Any]:
        """As `poll`, of a client; a message that it gives is taken, and worked on up to the next call.

        It is called for every message that is given to the job; so the way of most is written out, and what is known
        of the message before is kept: `here` is the log that it went into, as long as the next may go the same way.
        Batches that were given, and not looked through, are finished first.
        """
        get: Callable[[], Any] = current.get
        put = current.set
        here: TaskLog | None = None
        topic, partition = "", -1

        def polled(timeout: Any = NOW) -> Any:
            """As the client's."""
            nonlocal here, topic, partition
            if open_batches:
                open_batches[-1].finish()
            message = poll(timeout)
            if message is None or message.error() is not None:
                put(UNRECORDED)
                return message
            log, offset = get(), message.offset()
            if (
                log is not here
                or offset != log.next_offset
                or message.partition() != partition
                or message.topic() != topic
                or not log.in_epoch
            ):
                topic, partition = message.topic(), message.partition()
                taken = self.take(topic, partition, message)
                here = None if self.whole else taken
                return message
            log.take(log.input, offset)
            return message

        return polled

    def take(self, topic: str, partition: int, message: Any) -> TaskLog:
        """A message is given to the job; into which log."""
        found = self.last = self.of(topic, partition)
        self._take(found, message.offset(), message)
        return found.task.log

    def _take(self, found: Partition, offset: int, message: Any) -> None:
        data = message.value() if self.hashes else None
        record = readable(message) if self.recording.payload == "full" else None
        found.take(offset, record, data if isinstance(data, bytes) else None)

    def output(self, topic: str, key: Any, value: Any, timestamp: int = 0) -> Partition | None:
        """A message was given away: that of the record that is being worked on, of this partition."""
        found = self._at_work() if self.outputs else None
        if found is not None:
            named = None if self.identify is None else found.task.id_by(self.identify, topic, key, value)
            found.task.message(topic, key, value, timestamp=timestamp, id=named)
        return found

    def _at_work(self) -> Partition | None:
        """Whose record is being worked on here; another thread may have taken the last one."""
        log, last = current.get(), self.last
        if last is not None and last.task.log is log:
            return last
        return next((one for one in list(self.found.values()) if one.task.log is log), None)

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
