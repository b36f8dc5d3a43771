"""Holders: which task held how much of another task's logs, from when on, and by which sending it came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache

from replay.bundle.frames import ReceiptFrame, SendingFrame
from replay.causality.frames import Fault, left_with_the_world, readable
from replay.causality.life import Life, attempt_at, lives
from replay.causality.recording import Recording
from replay.causality.storage import Answer, storage_answers
from replay.errors import ReplayError
from replay.log.causal_log import Copy, HeldLogs
from replay.log.deltas import DeltaEntry, LogIds, decode_extents
from replay.model import WORLD, Channel, ChannelId, LogId, TaskId, Thread


@dataclass(frozen=True, slots=True)
class Growth:
    """A holder's copy of one epoch of a log of `task`'s `attempt` grew from `before` to `upto` bytes."""

    task: TaskId
    attempt: int
    thread: Thread
    epoch: int
    holder: TaskId
    holder_attempt: int
    t_us: int
    before: int
    upto: int
    channel: ChannelId
    sender_attempt: int
    seq: int
    sending: int
    sent_us: int
    taken_us: int


@dataclass(frozen=True, slots=True)
class Shortening:
    """A stable storage forgot what goes further in the task's logs: `copies` is what it had held until then."""

    holder: TaskId
    holder_attempt: int
    t_us: int
    upto: Mapping[tuple[Thread, int], int]
    copies: HeldLogs


@dataclass(slots=True)
class Holders:
    """All copies of one task's logs, and how they grew."""

    task: TaskId
    growths: list[Growth] = field(default_factory=list)
    shortenings: list[Shortening] = field(default_factory=list)
    copies: dict[tuple[TaskId, int], HeldLogs] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def of_holder(self, holder: str, attempt: int) -> Iterator[Growth]:
        """How one holder's copies grew, in time."""
        return (one for one in self.growths if one.holder == holder and one.holder_attempt == attempt)

    def shortened(self, holder: str, attempt: int) -> list[Shortening]:
        """When one holder's copies became shorter, in time."""
        return [one for one in self.shortenings if (one.holder, one.holder_attempt) == (holder, attempt)]

    def held_at(self, holder: TaskId, attempt: int, t_us: int, *, from_epoch: int = 0) -> list[Copy]:
        """What a holder's attempt held at a time (of whichever attempts of the task), from an epoch on."""
        upto: dict[tuple[Thread, int], int] = {}
        copies, since_us = self.copies.get((holder, attempt)), -1
        for shortening in reversed(self.shortened(holder, attempt)):
            if shortening.t_us <= t_us:
                since_us = shortening.t_us
                upto = {place: length for place, length in shortening.upto.items() if place[1] >= from_epoch}
                break
            copies = shortening.copies
        for one in self.of_holder(holder, attempt):
            if since_us < one.t_us <= t_us and one.epoch >= from_epoch:
                upto[one.thread, one.epoch] = max(one.upto, upto.get((one.thread, one.epoch), 0))
        found = []
        for (thread, epoch), length in sorted(upto.items()):
            held = copies.get(LogId(self.task, thread)) if copies else None
            if held is not None:
                found.append(Copy(holder, LogId(self.task, thread), epoch, held.bytes_of(epoch, 0, length)))
        return found


@dataclass(frozen=True, slots=True)
class _Sent:
    """What one sending carried of the logs that are looked for."""

    frame_us: int
    entries: tuple[DeltaEntry, ...]


def holders(recording: Recording, task: TaskId) -> Holders:
    """Follows the logs of a task downstream, from receiver to receiver."""
    return _Following(recording, task).follow()


class _Following:
    def __init__(self, recording: Recording, task: TaskId):
        self.recording = recording
        # Asked for by every channel, and looked up among the names of all members.
        self.attempts = cache(recording.attempts)
        self.graph = recording.graph
        self.task = task
        self.ids = LogIds.of(recording.manifest)
        self.layout = recording.manifest.protocol.delta_layout
        self.lives: dict[str, list[Life]] = lives(recording.events())
        self.found = Holders(task)
        # Per holder's attempt and log: (t_us, upto, attempt of the task), to tell whose bytes a relay passes on.
        self.tags: dict[tuple[TaskId, int, Thread, int], list[tuple[int, int, int]]] = {}

    def follow(self) -> Holders:
        if self.recording.manifest.protocol.logs:
            below = self.graph.all_downstream(self.task)
            for holder in (one for one in self.graph.order if one in below):
                sent = {i: self._sent(self.graph.channel(c)) for i, c in enumerate(self.graph.task(holder).inputs)}
                for attempt in self.attempts(holder):
                    self._receive(holder, attempt, sent)
            self._leave_with_the_world()
        self.found.growths.sort(key=lambda one: one.t_us)
        return self.found

    def _sent(self, channel: Channel) -> dict[tuple[int, int, int], _Sent]:
        """By (sender's attempt, seq, sending): what the sendings of a channel carried of this task's logs."""
        if channel.source != self.task and channel.source not in self.graph.all_downstream(self.task):
            return {}
        found = {}
        for attempt in self.attempts(channel.source):
            frames = self.recording.sendings(channel.source, attempt, channel.k)
            for frame in readable(channel.id, frames, self.found.faults):
                entries = self._entries(channel, frame)
                if entries:
                    found[attempt, frame.seq, frame.sending] = _Sent(frame.t_us, entries)
        return found

    def _entries(self, channel: Channel, frame: SendingFrame) -> tuple[DeltaEntry, ...]:
        data = frame.delta
        try:
            extents = decode_extents(data, self.ids, self.layout) if data else []
        except ReplayError as fault:
            self.found.faults.append(Fault(channel.id, frame.seq, str(fault)))
            return ()
        return tuple(
            DeltaEntry(one.log, one.epoch, one.offset, data[one.at : one.at + one.length])
            for one in extents
            if one.log.task == self.task
        )

    def _receive(self, holder: TaskId, attempt: int, sent: dict[int, dict[tuple[int, int, int], _Sent]]) -> None:
        channels = self.graph.task(holder).inputs
        arrivals: list[tuple[int, int, ReceiptFrame]] = []
        for i, of_channel in sent.items():
            if of_channel:
                receipts = readable(channels[i], self.recording.receipts(holder, attempt, i), self.found.faults)
                arrivals.extend((receipt.received_us, i, receipt) for receipt in receipts)
        arrivals.sort(key=lambda one: one[:2])
        copies = HeldLogs(holder)
        for _, i, receipt in arrivals:
            what = sent[i].get((receipt.sender_attempt, receipt.seq, receipt.sending))
            if what is None:
                continue
            try:
                copies.apply(what.entries, channels[i])
            except ReplayError as fault:
                self.found.faults.append(Fault(channels[i], receipt.seq, str(fault)))
                continue
            for entry in what.entries:
                self._grow(holder, attempt, self.graph.channel(channels[i]), receipt, what, entry)
        if list(copies):
            self.found.copies[holder, attempt] = copies

    def _leave_with_the_world(self) -> None:
        """What writers left with the world outside; it is one for all, and a rollback makes it forget."""
        worlds = left_with_the_world(self.recording, self.task, self.attempts, self.found.faults)
        left = [(channel, attempt, frame) for channel, attempt, frames in worlds for frame in frames]
        events = list(self.recording.events()) if left else []
        rollbacks = [event for event in events if event.get("type") == "global-rollback"]
        answers = list(storage_answers(events, self.task)) if self.recording.manifest.protocol.in_storage else []
        copies: dict[int, HeldLogs] = {}
        for channel, attempt, frame in sorted(left, key=lambda one: one[2].t_us):
            lineage = sum(int(one["t_us"]) <= frame.t_us for one in rollbacks)
            entries = self._entries(channel, frame)
            if not entries:
                continue
            held = copies.setdefault(lineage, HeldLogs(WORLD))
            while answers and answers[0].t_us < frame.t_us:
                self._shorten(held, lineage, answers.pop(0))
            try:
                held.apply(entries, channel.id)
            except ReplayError as fault:
                self.found.faults.append(Fault(channel.id, frame.seq, str(fault)))
                continue
            receipt = ReceiptFrame(frame.seq, attempt, 0, frame.t_us, frame.t_us)
            for entry in entries:
                self._grow(WORLD, lineage, channel, receipt, _Sent(frame.t_us, entries), entry)
        for answer in answers:
            if answer.lineage in copies:
                self._shorten(copies[answer.lineage], answer.lineage, answer)
        self.found.copies.update({(WORLD, lineage): held for lineage, held in copies.items()})

    def _shorten(self, held: HeldLogs, lineage: int, answer: Answer) -> None:
        """It returned less than it had: what goes further it forgot."""
        if answer.lineage != lineage or not any(True for _ in answer.gone(held)):
            return
        before = deepcopy(held)
        for log, epoch, upto in list(answer.gone(held)):
            log.cut(epoch, upto)
        left = {
            (log.thread, epoch): len(data)
            for log, copy in held.of_task(self.task).items()
            for epoch, data in copy.since(0)
        }
        self.found.shortenings.append(Shortening(WORLD, lineage, answer.t_us, left, before))

    def _grow(
        self, holder: TaskId, attempt: int, channel: Channel, receipt: ReceiptFrame, what: _Sent, entry: DeltaEntry
    ) -> None:
        end = entry.offset + len(entry.data)
        whose = self._attempt_of(channel, receipt.sender_attempt, entry, end, what.frame_us)
        tags = self.tags.setdefault((holder, attempt, entry.log.thread, entry.epoch), [])
        before = max((upto for _, upto, one in tags if one == whose), default=0)
        if end <= before:
            return
        tags.append((receipt.received_us, end, whose))
        self.found.growths.append(
            Growth(
                task=self.task,
                attempt=whose,
                thread=entry.log.thread,
                epoch=entry.epoch,
                holder=holder,
                holder_attempt=attempt,
                t_us=receipt.received_us,
                before=before,
                upto=end,
                channel=channel.id,
                sender_attempt=receipt.sender_attempt,
                seq=receipt.seq,
                sending=receipt.sending,
                sent_us=what.frame_us,
                taken_us=receipt.taken_us,
            )
        )

    def _attempt_of(self, channel: Channel, sender_attempt: int, entry: DeltaEntry, end: int, sent_us: int) -> int:
        """Whose bytes these are: the sender's own, or of the attempt from which the relaying sender had them."""
        if channel.source == self.task:
            return sender_attempt
        tags = self.tags.get((channel.source, sender_attempt, entry.log.thread, entry.epoch), ())
        for t_us, upto, attempt in tags:
            if upto >= end and t_us <= sent_us:
                return attempt
        return attempt_at(self.lives, self.task, sent_us)
