"""The causal log of a task: its own logs and those it received, and what each consumer is still to be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from replay.errors import CorruptRecording, DeltaGap, check
from replay.log.deltas import DeltaEntry
from replay.log.determinants import Determinant
from replay.log.thread_log import ThreadLog
from replay.model import MAIN, ChannelId, Graph, LogId, TaskId, Thread, thread_of_output

_GAP_REMEDY = "A sending before it is missing from the recording: record the job again"
_DISAGREEMENT_REMEDY = "One of the two was damaged: record the job again"


class HeldLogs:
    """Copies of other tasks' logs, as deltas brought them."""

    def __init__(self, holder: str):
        self.holder = holder
        self.first_epoch = 0
        self._logs: dict[LogId, ThreadLog] = {}

    def __iter__(self) -> Iterator[LogId]:
        return iter(self._logs)

    def get(self, log: LogId) -> ThreadLog | None:
        """The copy of that log, if anything of it is held."""
        return self._logs.get(log)

    def of_task(self, task: str) -> dict[LogId, ThreadLog]:
        """The copies of all logs of one task."""
        return {log: held for log, held in self._logs.items() if log.task == task}

    def apply(
        self, entries: Iterable[DeltaEntry], channel: str, *, path: str | None = None, at: int | None = None
    ) -> list[DeltaEntry]:
        """Appends what is new of a whole sending, or nothing if any of it has a gap or contradicts what is held.

        Returns the news: entries cut down to the bytes that were not known.
        """
        news: list[DeltaEntry] = []
        grown: dict[tuple[LogId, int], int] = {}
        for entry in entries:
            new = self._news(entry, grown, channel, path, at)
            if new is not None:
                news.append(new)
                grown[new.log, new.epoch] = new.offset + len(new.data)
        for new in news:
            self._open(new.log).append_bytes(new.data, new.epoch)
        return news

    def _news(
        self,
        entry: DeltaEntry,
        grown: dict[tuple[LogId, int], int],
        channel: str,
        path: str | None,
        at: int | None,
    ) -> DeltaEntry | None:
        if entry.epoch < self.first_epoch:
            return None
        held = self._logs.get(entry.log)
        known = grown.get((entry.log, entry.epoch)) or (held.length_of(entry.epoch) if held else 0)
        if entry.offset > known:
            raise DeltaGap(
                f"the delta on {channel} begins at offset {entry.offset} of {entry.log}, epoch {entry.epoch}, "
                f"where {self.holder} holds {known} bytes",
                channel=channel,
                log=entry.log,
                epoch=entry.epoch,
                path=path,
                offset=at if at is not None else entry.offset,
                remedy=_GAP_REMEDY,
            )
        if held is not None:
            self._check_overlap(entry, held, channel, path, at)
        end = entry.offset + len(entry.data)
        return DeltaEntry(entry.log, entry.epoch, known, entry.data[known - entry.offset :]) if end > known else None

    def _check_overlap(
        self, entry: DeltaEntry, held: ThreadLog, channel: str, path: str | None, at: int | None
    ) -> None:
        ours = held.bytes_of(entry.epoch, entry.offset, entry.offset + len(entry.data))
        if not entry.data.startswith(ours):
            raise disagreement(
                entry.log, entry.epoch, entry.offset + _first_difference(ours, entry.data), self.holder, channel, path
            )

    def _open(self, log: LogId) -> ThreadLog:
        if log not in self._logs:
            self._logs[log] = ThreadLog()
            self._logs[log].truncate(self.first_epoch)
        return self._logs[log]

    def merge(self, log: LogId, epoch: int, data: bytes) -> None:
        """Takes over a copy that reaches further than what is held."""
        held = self._open(log)
        held.append_bytes(data[held.length_of(epoch) :], epoch)

    def truncate(self, before_epoch: int) -> None:
        """Forgets the epochs before this one in every copy."""
        self.first_epoch = max(self.first_epoch, before_epoch)
        for held in self._logs.values():
            held.truncate(before_epoch)

    def forget(self, task: str, from_epoch: int = 0) -> None:
        """Drops a task's logs from an epoch on: its next attempt is of another lineage."""
        for held in self.of_task(task).values():
            held.forget(from_epoch)


def _first_difference(ours: bytes, theirs: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))


def disagreement(
    log: LogId, epoch: int, offset: int, one: str, other: str, path: str | None = None
) -> CorruptRecording:
    """Two copies of one log that are not prefixes of one another."""
    return CorruptRecording(
        f"{one} and {other} hold different bytes of {log}, epoch {epoch}, at offset {offset}",
        holders=(one, other),
        path=path,
        offset=offset,
        remedy=_DISAGREEMENT_REMEDY,
    )


@dataclass(frozen=True, slots=True)
class Copy:
    """One holder's copy of one epoch of one log."""

    holder: str
    log: LogId
    epoch: int
    data: bytes


def merge_copies(copies: Iterable[Copy]) -> dict[tuple[LogId, int], Copy]:
    """The longest copy of every log and epoch; every other must be its prefix, else `CorruptRecording`."""
    longest: dict[tuple[LogId, int], Copy] = {}
    for copy in copies:
        best = longest.get((copy.log, copy.epoch))
        if best is None:
            longest[copy.log, copy.epoch] = copy
            continue
        short, long = sorted((best, copy), key=lambda one: len(one.data))
        if not long.data.startswith(short.data):
            at = _first_difference(short.data, long.data)
            raise disagreement(copy.log, copy.epoch, at, best.holder, copy.holder)
        longest[copy.log, copy.epoch] = long if len(long.data) > len(best.data) else best
    return longest


@dataclass(slots=True)
class _Consumer:
    """How far a receiver's attempt was sent every log: (log, epoch) -> offset."""

    from_epoch: int
    sent: dict[tuple[LogId, int], int] = field(default_factory=dict)

    def forget(self, which: Callable[[LogId, int], bool]) -> None:
        for pair in [one for one in self.sent if which(*one)]:
            del self.sent[pair]


class CausalLog:
    """Own logs and received ones of a task's attempt. Sharing depth None is full, 0 shares nothing."""

    def __init__(self, task: TaskId, graph: Graph, *, sharing_depth: int | None = None, holder: str | None = None):
        self.task = task
        self.graph = graph
        self.sharing_depth = sharing_depth
        self.own: dict[Thread, ThreadLog] = {thread: ThreadLog() for thread in graph.task(task).threads}
        self.received = HeldLogs(holder or task)
        self._consumers: dict[ChannelId, _Consumer] = {}

    @property
    def main(self) -> ThreadLog:
        """The main thread's log."""
        return self.own[MAIN]

    def append(self, thread: Thread, determinant: Determinant, epoch: int) -> int:
        """Appends to one of the task's own logs; returns the offset from the epoch's start."""
        return self.own[thread].append(determinant, epoch)

    def register_consumer(self, channel: ChannelId, from_epoch: int = 0) -> None:
        """A receiver's new attempt reads this output: it has seen nothing from that epoch on."""
        self._consumers[channel] = _Consumer(from_epoch)

    def unregister_consumer(self, channel: ChannelId) -> None:
        """The receiver is gone; what it was sent is forgotten."""
        self._consumers.pop(channel, None)

    def delta_for(self, channel: ChannelId) -> list[DeltaEntry]:
        """What this consumer has not been sent, by ascending epoch; from now on it counts as sent."""
        if self.sharing_depth == 0:
            return []
        check(channel in self._consumers, f"no consumer is registered on {channel}")
        consumer = self._consumers[channel]
        found = [entry for log, held in self._shared_on(channel) for entry in _unsent(log, held, consumer)]
        return sorted(found, key=lambda entry: entry.epoch)

    def _shared_on(self, channel: ChannelId) -> Iterator[tuple[LogId, ThreadLog]]:
        thread = thread_of_output(self.graph.channel(channel).k)
        for one in (MAIN, thread):
            yield LogId(self.task, one), self.own[one]
        for log in self.received:
            held = self.received.get(log)
            if held is not None and self.forwards(log.task):
                yield log, held

    def forwards(self, task: TaskId) -> bool:
        """Whether the logs of that upstream task are passed on from here."""
        if self.sharing_depth is None:
            return True
        distance = self.graph.distance(task, self.task)
        return distance is not None and distance + 1 <= self.sharing_depth

    def apply(self, entries: Iterable[DeltaEntry], channel: ChannelId) -> list[DeltaEntry]:
        """Takes in what a sending on an input carried; returns what was new."""
        return self.received.apply(entries, channel)

    def held(self, of: TaskId, from_epoch: int = 0) -> list[Copy]:
        """This task's copies of another task's logs, from an epoch on: what it answers with."""
        return [
            Copy(self.received.holder, log, epoch, data)
            for log, held in sorted(self.received.of_task(of).items())
            for epoch, data in held.since(from_epoch)
        ]

    def truncate(self, before_epoch: int) -> None:
        """A checkpoint completed: forgets the epochs before it, own and received."""
        for log in self.own.values():
            log.truncate(before_epoch)
        self.received.truncate(before_epoch)
        for consumer in self._consumers.values():
            consumer.forget(lambda _, epoch: epoch < before_epoch)

    def forget(self, task: TaskId, from_epoch: int = 0) -> None:
        """A task's next attempt is of another lineage: drops its copies, and what consumers were sent of them."""
        self.received.forget(task, from_epoch)
        for consumer in self._consumers.values():
            consumer.forget(lambda log, epoch: log.task == task and epoch >= from_epoch)


def _unsent(log: LogId, held: ThreadLog, consumer: _Consumer) -> Iterator[DeltaEntry]:
    for epoch in held.epochs:
        sent = consumer.sent.get((log, epoch), 0)
        end = held.length_of(epoch)
        if epoch >= consumer.from_epoch and end > sent:
            consumer.sent[log, epoch] = end
            yield DeltaEntry(log, epoch, sent, held.bytes_of(epoch, sent, end))
