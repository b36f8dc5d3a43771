"""A task as its job sees it: attempts, epochs, what it took, what it gave away, its state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from clonoscope import words as w
from clonoscope.arguments import whole
from clonoscope.durability import sync
from clonoscope.errors import WrongUse, message_of
from clonoscope.json_values import encoded, json_in, to_json
from clonoscope.redaction import ID, KEY, said
from clonoscope.retries import RetriedLog
from clonoscope.services import current, epoch_hooks
from clonoscope.shapes import of_event, shown, text
from clonoscope.task_log import TaskLog
from replay.model import json_bytes

if TYPE_CHECKING:
    from clonoscope.recording import Recording

_TOPIC_BYTES_MOST = 1500
_RANGE_MOST = (1 << 32) - 1
# More is no cause, and an end must have room in a segment.
_CAUSE_MOST = 10_000
T = TypeVar("T")
Place = tuple[str, int]
Lineage = Sequence[tuple[str, int]]


class Task:
    """Made by `Recording.task`. Its methods raise for wrong use only, and never for what the disk does."""

    def __init__(self, recording: Recording, vertex: str, subtask: int, operator: str, *, handed_on: bool = False):
        self.recording = recording
        self.handed_on = handed_on
        self.vertex, self.subtask = vertex, subtask
        self.id = f"{vertex}.{subtask}"
        self._fixed: dict[str, Any] = {"vertex": vertex, "subtask": subtask, "operator": text(operator)}
        self._begin_log()
        self._hashes: dict[Place, tuple[int, int, Any]] = {}

    def _begin_log(self) -> None:
        self.log = self.recording.new_log(self.id, self._fixed, handed_on=self.handed_on)
        self._retried = self.log if isinstance(self.log, RetriedLog) else None

    @property
    def attempt(self) -> int | None:
        """The attempt that is at work; None before anything was recorded of it."""
        return self.log.attempt

    # --- attempts and epochs ---

    @contextmanager
    def at_work(self) -> Iterator[Task]:
        """Within, what this thread (or asyncio task) asks is recorded as this task's."""
        token = current.set(self.log)
        try:
            yield self
        finally:
            current.reset(token)

    @contextmanager
    def epoch(self, number: int, *, because: str = "") -> Iterator[Task]:
        """An epoch, from its beginning to its end. An exception ends the attempt; the next epoch begins another."""
        self.begin_epoch(number, because=because)
        token = current.set(self.log)
        try:
            yield self
        except BaseException as fault:
            self.fail(fault)
            raise
        else:
            self.end_epoch()
        finally:
            current.reset(token)

    def begin_epoch(self, number: int, *, because: str = "") -> None:
        """Enters an epoch. One that was there before is executed once more, which makes it another attempt.

        `because`: why another attempt begins here, if one does.
        """
        if type(number) is not int or not 0 <= number < 1 << 62:
            raise WrongUse(f"an epoch is a number from 0 of at most 62 bits, not {shown(number)}")
        log = self.log
        if log.epoch is not None and number <= log.epoch:
            self.begin_attempt(because or f"epoch {number} is executed once more")
            log = self.log
        log.fixed.setdefault("restored", number)
        if because:
            log.fixed["because"] = text(because)
        # What is over may go now, where there was no room before.
        if not self.handed_on:
            self.recording.retention.epoch_began(self.id, number)
        log.try_again()
        log.flush_advance()
        log.begun = 0
        log.epoch, log.in_epoch = number, True
        if self.handed_on:
            self._go_on(log, number)
        self._put(w.EPOCH, {"epoch": number, "at_us": _now_us(), "taken": log.taken})
        if self._retried is not None:
            self._retried.begin_taking(number)
        for began in list(epoch_hooks):
            began(log)

    def _go_on(self, log: TaskLog, number: int) -> None:
        """Where others left the task, of whom nothing is let go before."""
        retention = self.recording.retention
        if log.turn_over(1) and log.folder is not None:
            try:
                retention.handed_on(log.folder.parent, number)
            except OSError as fault:
                self.recording.at_fault(f"{log.folder.parent}: {fault.strerror}")
        retention.epoch_began(self.id, number)

    def end_epoch(self, checkpoint: int | None = None) -> None:
        """All of the epoch's records are done; its outputs may leave. It acknowledges that checkpoint, or the next."""
        checkpoint = None if checkpoint is None else whole(checkpoint, "a checkpoint")
        log, redaction = self.log, self.recording.redaction
        for (topic, partition), (first, count, digest) in self._hashes.items():
            place = {"input": log.inputs.get((topic, partition)), "first": first, "records": count}
            self._put(w.HASH, {**place, "keyed" if redaction.active else "sha256": digest.hexdigest()})
        self._hashes.clear()
        log.flush_advance()
        if self._retried is not None:
            self._retried.end_taking()
        log.in_epoch = False
        ended = {"epoch": log.epoch, "at_us": _now_us(), "taken": log.taken}
        self._put(w.EPOCH_END, ended if checkpoint is None else {**ended, "checkpoint": checkpoint})
        if self.recording.sync:
            self.sync()
        if self.handed_on:
            log.rest()
            self._begin_log()

    def sync(self) -> None:
        """What was recorded is on the disk when this returns, and outlives a loss of power; else an event says so."""
        try:
            sync(self.log)
        except OSError as fault:
            why = fault.strerror or str(fault)
            self.recording.at_fault(f"{self.id}: {why}")
            self._tell("sync-failed", task=self.id, attempt=self.attempt, epoch=self.log.epoch, why=why)

    def fail(self, fault: BaseException | str) -> None:
        """The attempt is over; what comes next is another."""
        named = f"{type(fault).__qualname__}: " if isinstance(fault, BaseException) else ""
        self.log.flush_advance()
        self.end_attempt("failed", cause=named + self._why(fault)[:_CAUSE_MOST])

    def begin_attempt(self, why: str = "") -> None:
        """The task begins once more; ends the attempt before, if it has not ended."""
        if self.log.segments and self.log.segment is not None:
            self.end_attempt("superseded", cause=text(why))

    def hand_over(self) -> None:
        """Another process goes on with the task; if this one does so later, that is another attempt."""
        if self.log.segments and self.log.segment is not None:
            self.end_attempt("handed-over")

    def end_attempt(self, how: str, **more: Any) -> None:
        """`how`: closed, failed, superseded, handed-over. A log that nothing was written into leaves nothing."""
        log = self.log
        log.in_epoch = False
        if log.segment is not None:
            log.close({"how": how, **more})
            self.recording.rests(log)
        self._hashes.clear()
        if how != "closed":
            self._begin_log()

    # --- what it took and gave ---

    @property
    def records_taken(self) -> int:
        """By this attempt, so far."""
        return self.log.taken

    def take(
        self, offset: int, *, topic: str = "", partition: int = 0, record: Any = None, data: bytes | None = None
    ) -> None:
        """A record was taken. `record`, as [key, timestamp, value], is kept with payload `full`; `data`, its bytes,
        goes into the hash of the epoch's records of that input."""
        log = self.log
        try:
            number = log.inputs[topic, partition]
        except (KeyError, TypeError):
            number = self._declare(topic, partition)
        if data is not None and type(data) is not bytes:
            data = _bytes(data)
        if self._retried is not None:
            offset = whole(offset, "an offset")
            self._retried.took((topic, partition), offset, offset + 1, data=data)
        log.take(number, offset)
        if data is not None:
            begun = self._hashes.get((topic, partition))
            first, count, digest = begun or (log.next_offset - 1, 0, self.recording.redaction.hashing())
            digest.update(len(data).to_bytes(4, "big"))
            digest.update(data)
            self._hashes[topic, partition] = first, count + 1, digest
        if record is not None and self.recording.payload == "full":
            self._put(w.RECORD, {"input": number, "offset": log.next_offset - 1, "record": self._kept(record)})

    def records(self, found: Iterable[T], first: int, *, topic: str = "", partition: int = 0) -> Iterator[T]:
        """Gives what is found, and takes each as it is given: offsets count from `first`. Cheaper than `take`."""
        log, retried = self.log, self._retried
        take = log.take
        number = self._number_of(topic, partition)
        for offset, record in enumerate(found, whole(first, "an offset")):
            if retried is not None:
                retried.took((topic, partition), offset, offset + 1)
            take(number, offset)
            yield record

    def take_range(
        self,
        first: int,
        until: int,
        *,
        topic: str = "",
        partition: int = 0,
        sha256: str = "",
        records: Sequence[Any] = (),
    ) -> None:
        """Records `first` up to, and without, `until` are taken, with one entry for all of them; `records`, if given,
        are kept with payload `full`."""
        first, until = whole(first, "an offset"), whole(until, "an offset")
        if not 0 <= first <= until:
            raise WrongUse(f"a range of offsets can't go from {first} to {until}")
        if until - first > _RANGE_MOST:
            raise WrongUse(f"a range has at most {_RANGE_MOST:,} records, and not {until - first:,}")
        if not isinstance(sha256, str):
            raise WrongUse(f"a hash is hexadecimal digits, not a value of the type {type(sha256).__qualname__}")
        log = self.log
        number = self._number_of(topic, partition)
        log.flush_advance()
        log.name(number)
        hashed = self.recording.redaction.hashed(sha256) if sha256 else {}
        if self._retried is not None:
            self._retried.took((topic, partition), first, until, sha256="".join(hashed.values()))
        fields = {"input": number, "first": first, "until": until}
        self._put(w.INPUT, {**fields, **hashed} if sha256 else fields)
        log.took_range(number, first, until)
        if self.recording.payload == "full":
            for offset, record in enumerate(records, first):
                self._put(w.RECORD, {"input": number, "offset": offset, "record": self._kept(record)})

    def _number_of(self, topic: str, partition: int) -> int:
        try:
            return self.log.inputs[topic, partition]
        except (KeyError, TypeError):
            return self._declare(topic, partition)

    def _declare(self, topic: str, partition: int) -> int:
        """Segments to come name it, so that it must be what a segment can hold."""
        if not isinstance(topic, str) or not _can_be_named(topic):
            raise WrongUse(f"a topic is a text of at most {_TOPIC_BYTES_MOST} bytes of UTF-8")
        return self.log.declare(topic, whole(partition, "a partition"))

    def output(
        self,
        record: Any,
        *,
        id: str | None = None,  # noqa: A002
        source: Lineage | None = None,
        of: int | None = None,
        topic: str = "",
    ) -> None:
        """A record, as [key, timestamp, value], left for the outside; `id`, where writes of one id count once.

        `of`: it comes from this one of the task's records, as `records_taken` counted before that was taken. With a
        `topic` it was only handed to who sends it on, and has left when `sent` says so.
        """
        try:
            fields: dict[str, Any] = {}
            if id is not None:
                fields["id"] = said(self.recording.kept(id, ID))
            if of is not None:
                fields["of"] = whole(of, "a record's number")
            if source is not None:
                fields["source"] = [list(pair) for pair in source]
            if topic:
                fields["topic"] = topic
            self._put_output(fields, record)
        except Exception as fault:
            self._lose("an output", fault)

    def _put_output(self, fields: dict[str, Any], record: Any) -> None:
        """Most can be written at once; of what can't, it is said why."""
        if self._retried is None and not self.recording.redaction.active:
            try:
                data = json_bytes({"record": encoded(record), **fields})
            except Exception:
                data = json_bytes({"record": self._kept(record), **fields})
            self.log.put_long(w.OUTPUT, data)
            return
        fields = {"record": self._kept(record), **fields}
        if self._retried is not None:
            self._retried.gave(fields)
        self._put(w.OUTPUT, fields)

    def _lose(self, what: str, fault: Exception) -> None:
        """However odd a value is, the job goes on. What the exception says may be what must not leave."""
        why = f"{what} could not be recorded: {type(fault).__qualname__}"
        self.log.lose(why)
        self.recording.at_fault(f"{self.id}: {why}")

    def id_by(self, identify: Callable[..., str | None], *of: Any) -> str | None:
        """An output's id, by what was given for that; where it fails, that is missing, and no job's fault."""
        try:
            return identify(*of)
        except Exception as fault:
            self._lose("an output's id", fault)
            return None

    def outputs(self, records: Sequence[Any]) -> None:
        """Records that left together, of nobody knows which records: one entry holds as many as it can."""
        try:
            records = list(records)
        except Exception as fault:
            self._lose("outputs", fault)
            return
        if records and self._retried is None and not self.recording.redaction.active:
            try:
                data = json_bytes({"records": [encoded(record) for record in records], "source": []})
            except Exception:
                data = b""
            if 0 < len(data) <= w.LONGEST_BYTES:
                self.log.put_long(w.OUTPUT, data)
                return
            if len(records) > 1:
                middle = len(records) // 2
                self.outputs(records[:middle])
                self.outputs(records[middle:])
                return
        for record in records:
            self.output(record, source=())

    def message(
        self,
        topic: str,
        key: Any,
        value: Any,
        *,
        timestamp: int = 0,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """A message was handed over for a topic; key and value are text or bytes. Text that is JSON becomes so in the
        bundle. It has left when `sent` says so."""
        try:
            kept, key, value = self.recording.kept, _text(key), _text(value)
            if self.recording.redaction.active:
                # What is to be redacted may stand in the text.
                record = [kept(json_in(key), KEY), timestamp, kept(json_in(value))]
                fields: dict[str, Any] = {"topic": topic, "record": record}
            else:
                fields = {"topic": topic, "text": [key, timestamp, value]}
            if id is not None:
                fields["id"] = said(kept(id, ID))
            if self._retried is not None:
                self._retried.gave(fields)
            self._put(w.OUTPUT, fields)
        except Exception as fault:
            self._lose("an output", fault)

    def sent(self) -> None:
        """All that was handed over so far has left."""
        self._tell("outputs-sent", task=self.id, attempt=self.attempt)

    def border(self, fields: dict[str, Any]) -> None:
        """What an adapter tells of what passed between its engine and the job's function, where nothing is redacted."""
        self._put(w.BORDER, fields)

    def state(self, checkpoint: int, operator: Any) -> None:
        """The operator's state at a checkpoint: that of the beginning of the epoch of the same number."""
        checkpoint = whole(checkpoint, "a checkpoint")
        self._put(w.STATE, {"checkpoint": checkpoint, "state": self._kept(operator)})

    def event(self, kind: str, **fields: Any) -> None:
        """Something that the job, or its engine, noticed; see the log format's events."""
        try:
            kept = self.recording.redaction.event(fields)
            self._tell(text(kind), **of_event(kept))
        except Exception as fault:
            self._lose("an event", fault)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._put(w.EVENT, {"type": kind, "at_us": _now_us(), **fields})

    def _kept(self, value: Any) -> Any:
        """As JSON, redacted. A record keeps its place: only key and value are looked into."""
        try:
            found = to_json(value)
        except Exception as fault:
            return {"redacted": f"not JSON: {self._why(fault)}"[:100]}
        if isinstance(found, list) and len(found) == 3 and type(found[1]) is int:
            return [self.recording.kept(found[0], KEY), found[1], self.recording.kept(found[2])]
        return self.recording.kept(found)

    def _put(self, kind: int, fields: dict[str, Any]) -> None:
        try:
            self.log.put_json(kind, fields)
        except Exception as fault:
            self.log.lose(f"an entry could not be written as JSON: {self._why(fault)}"[:200])

    def _why(self, fault: BaseException | str) -> str:
        # Half of a pair has no place in a log.
        return said(self.recording.message(message_of(fault))).encode("utf-8", "backslashreplace").decode()


def _text(data: Any) -> Any:
    if type(data) is bytes:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return to_json(data)
    return data


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise WrongUse(f"data is a record's bytes, not a value of the type {type(data).__qualname__}")


def _can_be_named(topic: str) -> bool:
    try:
        return len(json_bytes(topic)) <= _TOPIC_BYTES_MOST
    except UnicodeEncodeError:
        return False  # half of a pair


def _now_us() -> int:
    return time.time_ns() // 1000
