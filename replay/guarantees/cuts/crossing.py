"""One channel in a cut: which of what its receiver took its sender has not sent there, and which the other way round.

A task that began again from a snapshot has also done what the attempt that took the snapshot had done before it: its
stand is a chain of parts. Two attempts sent the same where number and bytes are the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache

from replay.guarantees.cuts.cut import InFlight, Orphan, Stand
from replay.guarantees.cuts.histories import Histories
from replay.guarantees.cuts.traffic import Taking
from replay.model import Channel

SentPart = tuple[int, int, int]
"""(attempt, first number, the number behind the last)"""

TakenPart = tuple[int, int]
"""(attempt, how many of its takes)"""


class Crossing:
    """What is found for two attempts is kept, so that a cut which is dragged asks for little more than bisections."""

    def __init__(self, histories: Histories, channel: Channel):
        self._histories = histories
        self._traffic = histories.traffic
        self.channel = channel
        self.unknown: set[tuple[int, int]] = set()
        self._before = cache(self._sent_before)
        self._otherwise = cache(self._sent_otherwise)

    def orphans(self, sender: Stand, receiver: Stand) -> Iterator[Orphan]:
        """All of them, the receiver's latest attempt first."""
        for attempt, count in self.taken_parts(receiver):
            for at in self._orphans_in(sender, attempt, count):
                yield self._orphan(sender, attempt, at)

    def first_orphan(self, sender: Stand, receiver: Stand) -> tuple[int, int] | None:
        """(attempt, when it was taken) of the first one of the earliest attempt that has any."""
        for attempt, count in reversed(self.taken_parts(receiver)):
            taking = self._traffic.taken(self.channel, attempt)
            at = min(self._orphans_in(sender, attempt, count, first_only=True), default=None)
            if at is not None:
                return attempt, taking.taken_us[at]
        return None

    def in_flight(self, sender: Stand, receiver: Stand) -> list[InFlight]:
        """By number. Where all was taken in its order the first that was not is found at once."""
        parts = self.taken_parts(receiver)
        following = self._following(sender, parts)
        if following is None:
            return self._in_flight_by_comparing(sender, parts)
        found = []
        for attempt, first, end in reversed(self.sent_parts(sender)):
            if max(first, following) < end:
                found.append(InFlight(self.channel.id, attempt, max(first, following), end - 1))
        return found

    def sent_parts(self, sender: Stand) -> tuple[SentPart, ...]:
        """The latest attempt's first."""
        following = sender.sent[self.channel.k]
        first = self.sent_from(sender.attempt)
        return ((sender.attempt, first, max(first, following)), *self._before(sender.attempt))

    def taken_parts(self, receiver: Stand) -> list[TakenPart]:
        """The latest attempt's first."""
        found = [(receiver.attempt, receiver.taken[self.channel.i])]
        begin = self._histories.begin(receiver.task, receiver.attempt)
        while (snapshot := begin.snapshot) is not None:
            found.append((snapshot.attempt, snapshot.takes[self.channel.i] or 0))
            begin = self._histories.begin(receiver.task, snapshot.attempt)
        return found

    def taken_upto(self, receiver: Stand) -> int:
        """The number behind the highest that was taken."""
        upto = 0
        for attempt, count in self.taken_parts(receiver):
            highest = self._traffic.taken(self.channel, attempt).highest
            upto = max(upto, self._begins_with(attempt), highest[count - 1] + 1 if count else 0)
        return upto

    # --- what was sent ---

    def sent_from(self, attempt: int) -> int:
        """The number of the first buffer that this attempt itself cut."""
        begin = self._histories.begin(self.channel.source, attempt)
        if begin.snapshot is not None:
            return begin.snapshot.outputs[self.channel.k]
        cut = self._traffic.cut(self.channel, attempt).seqs
        return 0 if begin.known or not cut else cut[0]

    def _sent_before(self, attempt: int) -> tuple[SentPart, ...]:
        """What the attempts before had sent that this one continues."""
        found: list[SentPart] = []
        begin = self._histories.begin(self.channel.source, attempt)
        while (snapshot := begin.snapshot) is not None:
            first, end = self.sent_from(snapshot.attempt), snapshot.outputs[self.channel.k]
            found.append((snapshot.attempt, first, max(first, end)))
            begin = self._histories.begin(self.channel.source, snapshot.attempt)
        return tuple(found)

    def _orphans_in(self, sender: Stand, attempt: int, count: int, *, first_only: bool = False) -> Iterator[int]:
        """Of the first so many takes of a receiver's attempt."""
        taking = self._traffic.taken(self.channel, attempt)
        following = max(sender.sent[self.channel.k], self.sent_from(sender.attempt))
        for at in self._otherwise(attempt, sender.attempt):
            if at >= count:
                break
            if taking.seqs[at] < following:
                yield at
                if first_only:
                    break
        for at in range(bisect_left(taking.highest, following), count):
            if taking.seqs[at] >= following and self._is_recorded(taking.senders[at], taking.seqs[at]):
                yield at
                if first_only:
                    break

    def _is_recorded(self, attempt: int, seq: int) -> bool:
        """Of a buffer that no member has nothing tells when it was sent: the recording lacks it, and not the cut."""
        if self._traffic.cut(self.channel, attempt).place(seq) is not None:
            return True
        self.unknown.add((attempt, seq))
        return False

    def _sent_otherwise(self, attempt: int, sender_attempt: int) -> tuple[int, ...]:
        """The takes whose numbers that sender's attempt, or those it continues, sent with other bytes."""
        taking = self._traffic.taken(self.channel, attempt)
        if set(taking.senders) <= {sender_attempt} and not self._before(sender_attempt):
            return ()
        top = self._traffic.cut(self.channel, sender_attempt).seqs
        end = max(top[-1] + 1 if top else 0, self.sent_from(sender_attempt))
        parts = ((sender_attempt, self.sent_from(sender_attempt), end), *self._before(sender_attempt))
        found = []
        for at, (seq, whose) in enumerate(zip(taking.seqs, taking.senders, strict=True)):
            here = next((part for part in parts if part[1] <= seq < part[2]), None)
            if here is not None and here[0] != whose and self._differ(seq, whose, here[0]):
                found.append(at)
        return tuple(found)

    def _differ(self, seq: int, one: int, other: int) -> bool:
        first = self._traffic.cut(self.channel, one).content(seq)
        second = self._traffic.cut(self.channel, other).content(seq)
        if first is None or second is None:
            self.unknown.add((one if first is None else other, seq))
            return False
        return first != second

    def _orphan(self, sender: Stand, attempt: int, at: int) -> Orphan:
        taking = self._traffic.taken(self.channel, attempt)
        seq = taking.seqs[at]
        parts = self.sent_parts(sender)
        instead = next((one for one, first, end in parts if first <= seq < end), None)
        return Orphan(
            self.channel.id, taking.senders[at], seq, taking.sendings[at], attempt, taking.taken_us[at], instead
        )

    # --- what is on its way ---

    def _following(self, sender: Stand, parts: list[TakenPart]) -> int | None:
        """The first number that was not taken, where what was taken are those before it, in their order and once."""
        begins = [self._begins_with(attempt) for attempt, _ in parts]
        for n, (attempt, count) in enumerate(parts):
            taking = self._traffic.taken(self.channel, attempt)
            if not self._in_order(taking, count, begins[n]) or any(
                at < count for at in self._otherwise(attempt, sender.attempt)[:1]
            ):
                return None
            if n and begins[n] + count != begins[n - 1]:
                return None
        return begins[0] + parts[0][1]

    def _begins_with(self, attempt: int) -> int:
        begin = self._histories.begin(self.channel.target, attempt)
        if begin.snapshot is not None:
            return begin.snapshot.inputs[self.channel.i]
        seqs = self._traffic.taken(self.channel, attempt).seqs
        return 0 if begin.known or not seqs else seqs[0]

    def _in_order(self, taking: Taking, count: int, first: int) -> bool:
        return not count or (taking.seqs[0] == first and not any(at < count for at in taking.out_of_order[:1]))

    def _in_flight_by_comparing(self, sender: Stand, parts: list[TakenPart]) -> list[InFlight]:
        taken: dict[int, set[int]] = {}
        for attempt, count in parts:
            taking = self._traffic.taken(self.channel, attempt)
            for at in range(count):
                taken.setdefault(taking.seqs[at], set()).add(taking.senders[at])
        found: list[InFlight] = []
        for attempt, first, end in reversed(self.sent_parts(sender)):
            for seq in self._sent_numbers(attempt, first, end):
                those = taken.get(seq, ())
                if attempt in those or any(not self._differ(seq, one, attempt) for one in those):
                    continue
                if found and (found[-1].attempt, found[-1].last) == (attempt, seq - 1):
                    found[-1] = InFlight(self.channel.id, attempt, found[-1].first, seq)
                else:
                    found.append(InFlight(self.channel.id, attempt, seq, seq))
        return found

    def _sent_numbers(self, attempt: int, first: int, end: int) -> Iterator[int]:
        seqs = self._traffic.cut(self.channel, attempt).seqs
        return (seq for seq in seqs if first <= seq < end)
