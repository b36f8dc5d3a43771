"""The causal log of a task: its own logs and those it received, and what each consumer is still to be sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from replay.errors import CorruptRecording, DeltaGap, InvariantError, PoolExhausted
from replay.log.codec import decode_all, encode
from replay.log.consumers import Consumer, Journal
from replay.log.deltas import DeltaEntry
from replay.log.determinant_pool import DeterminantPool
from replay.log.determinants import Determinant
from replay.log.thread_log import ThreadLog
from replay.model import MAIN, ChannelId, Graph, LogId, TaskId, Thread, thread_of_output

_GAP_REMEDY = "A sending before it is missing from the recording: record the job again"
_DISAGREEMENT_REMEDY = "One of the two was damaged: record the job again"


class HeldLogs:
    """Copies of other tasks' logs, as deltas brought them."""

    def __init__(self, holder: str, pool: DeterminantPool | None = None):
        self.holder = holder
        self.first_epoch = 0
        self._pool = pool
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
            self._logs[log] = ThreadLog(self._pool)
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


class CausalLog:
    """Own logs and received ones of a task's attempt. Sharing depth None is full, 0 shares nothing."""

    def __init__(
        self,
        task: TaskId,
        graph: Graph,
        *,
        sharing_depth: int | None = None,
        holder: str | None = None,
        pool_bytes: int | None = None,
        segment_bytes: int = 4096,
        world: ChannelId | None = None,
    ):
        """`pool_bytes` None keeps as much as there is; else `PoolExhausted` is raised where it does not fit.

        `world`: the pseudo-channel to a world outside that keeps determinants; it is told of all the task's own logs.
        """
        self.task = task
        self.graph = graph
        self.sharing_depth = sharing_depth
        self.pool = None if pool_bytes is None else DeterminantPool(pool_bytes, segment_bytes, self._exhausted)
        self.own: dict[Thread, ThreadLog] = {thread: ThreadLog(self.pool) for thread in graph.task(task).threads}
        self.received = HeldLogs(holder or task, self.pool)
        self.appended: list[int] = [0] * 256
        self.appended_bytes: list[int] = [0] * 256
        self._consumers: dict[ChannelId, Consumer] = {}
        self._journal = Journal()
        self._forwarded: dict[TaskId, bool] = {}
        self._own_on: dict[ChannelId, tuple[tuple[LogId, ThreadLog], ...]] = {
            one.channel: tuple((LogId(task, thread), self.own[thread]) for thread in (MAIN, thread_of_output(k)))
            for k, one in enumerate(graph.task(task).outputs)
        }
        if world is not None:
            self._own_on[world] = tuple((LogId(task, thread), log) for thread, log in self.own.items())

    @property
    def main(self) -> ThreadLog:
        """The main thread's log."""
        return self.own[MAIN]

    def append(self, thread: Thread, determinant: Determinant, epoch: int) -> int:
        """Appends to one of the task's own logs; returns the offset from the epoch's start."""
        data = encode(determinant)
        tag = data[0]
        self.appended[tag] += 1
        self.appended_bytes[tag] += len(data)
        return self.own[thread].append_bytes(data, epoch)

    def register_consumer(self, channel: ChannelId, from_epoch: int = 0) -> None:
        """A receiver's new attempt reads this output: it has seen nothing from that epoch on."""
        self._consumers[channel] = Consumer(from_epoch)

    def unregister_consumer(self, channel: ChannelId) -> None:
        """The receiver is gone; what it was sent is forgotten."""
        self._consumers.pop(channel, None)

    def delta_for(self, channel: ChannelId) -> list[DeltaEntry]:
        """What this consumer has not been sent, by ascending epoch; from now on it counts as sent.

        Of the task's own logs it is sent the main log and that of its own output thread, not of others: what is cut
        on another channel has no effect on this one.
        """
        if self.sharing_depth == 0:
            return []
        consumer = self._consumers.get(channel)
        if consumer is None:
            raise InvariantError(f"no consumer is registered on {channel}")
        found = [entry for log, held in self._own_on[channel] for entry in consumer.unsent_own(log, held)]
        if consumer.seen < self._journal.version:
            for log, epoch in self._journal.since(consumer.seen):
                held = self.received.get(log)
                entry = consumer.unsent(log, epoch, held) if held is not None else None
                if entry is not None:
                    found.append(entry)
            consumer.seen = self._journal.version
        found.sort(key=_epoch_of)
        return found

    def forwards(self, task: TaskId) -> bool:
        """Whether the logs of that upstream task are passed on from here."""
        known = self._forwarded.get(task)
        if known is None:
            distance = self.graph.distance(task, self.task)
            within = distance is not None and self.sharing_depth is not None and distance + 1 <= self.sharing_depth
            known = self._forwarded[task] = bool(self._own_on) and (self.sharing_depth is None or within)
        return known

    def apply(self, entries: Iterable[DeltaEntry], channel: ChannelId) -> list[DeltaEntry]:
        """Takes in what a sending on an input carried; returns what was new."""
        news = self.received.apply(entries, channel)
        for one in news:
            if self.forwards(one.log.task):
                self._journal.grew(one.log, one.epoch)
        return news

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
        self._forget_sent(lambda _, epoch: epoch < before_epoch)

    def forget(self, task: TaskId, from_epoch: int = 0) -> None:
        """A task's next attempt is of another lineage: drops its copies, and what consumers were sent of them."""
        self.received.forget(task, from_epoch)
        self._forget_sent(lambda log, epoch: log.task == task and epoch >= from_epoch)

    def _forget_sent(self, which: Callable[[LogId, int], bool]) -> None:
        self._journal.forget(which)
        for consumer in self._consumers.values():
            consumer.forget(which)

    # --- the pool ---

    def _exhausted(self) -> PoolExhausted:
        logs = {LogId(self.task, thread): log for thread, log in self.own.items()}
        logs |= {log: held for log in self.received if (held := self.received.get(log)) is not None}
        kinds: Counter[str] = Counter()
        for held in logs.values():
            for _, data in held.since(0):
                for _, length, determinant in decode_all(data):
                    kinds[determinant.kind] += length
        total = sum(kinds.values())
        largest = max(logs, key=lambda one: (logs[one].length_bytes, str(one)))
        kind, of_kind = kinds.most_common(1)[0]
        pool = self.pool
        segments, size = (pool.segments, pool.segment_bytes) if pool is not None else (0, 0)
        return PoolExhausted(
            f"the determinant pool of {self.task} is full: its {segments} segments of {size} bytes hold "
            f"{total} bytes of {len(logs)} logs, {100 * of_kind // total} % of them {kind} determinants, "
            f"and most of {largest}",
            task=self.task,
            pool="determinants",
            remedy="Make the pool larger, share determinants less deep, complete checkpoints more often, "
            "or let operators make fewer choices",
        )


def _epoch_of(entry: DeltaEntry) -> int:
    return entry.epoch
