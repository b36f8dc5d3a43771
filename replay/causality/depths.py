"""Depths: what every sending carried of one task's logs, and what it would have carried at other sharing depths.

What the task itself put on its own channels is as recorded, at every depth but 0. Everything below follows from it:
the same buffers are sent and received at the same times, and a relay that is nearer to the task than the depth passes
on all that it would have had by then and that the receiver's attempt was not sent. All depths are followed at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from replay.bundle.frames import SendingFrame
from replay.causality.carried import Carried, Depth, Followed, Key
from replay.causality.frames import Fault, left_with_the_world, readable
from replay.causality.life import Life, attempt_at
from replay.causality.passing_on import Consumer, Copies, Extent, Placing, same_extents
from replay.causality.recording import Recording
from replay.causality.turns import AskedAgain, Execution, Turns
from replay.errors import ReplayError
from replay.log.deltas import LogIds, decode_extents
from replay.model import WORLD, Channel, ChannelId, TaskId

MOST_EXTENTS = 3_000_000
"""So much is followed of all depths together; the deepest are given up first."""

Lives = dict[str, list[Life]]
Sent = tuple[int, int, int, int, list[Extent]]
"""(t_us, sequence number, sending, receiver's attempt, what of the task's logs was recorded on it)"""


def deepest(recording: Recording, task: TaskId) -> int:
    """The depth from which on deeper sharing carries a task's logs no further."""
    graph, protocol = recording.graph, recording.manifest.protocol
    hops = [0]
    for one in (task, *graph.all_downstream(task)):
        leaves = bool(graph.task(one).outputs) or protocol.sink == "determinant"
        hops.append((graph.distance(task, one) or 0) + leaves)
    return max(hops)


def follow(recording: Recording, task: TaskId, attempt: int, until_us: float, turns: Turns, known: Lives) -> Followed:
    """What is counted is of that attempt of the task, until then; what is held is followed to the end."""
    return _Following(recording, task, attempt, until_us, turns, known).follow()


class _Following:
    def __init__(
        self, recording: Recording, task: TaskId, attempt: int, until_us: float, turns: Turns, known: Lives
    ) -> None:
        self.recording, self.graph, self.task = recording, recording.graph, task
        self.attempt, self.until_us, self.turns, self.lives = attempt, until_us, turns, known
        protocol = recording.manifest.protocol
        self.attempts = cache(recording.attempts)
        self.ids, self.layout = LogIds.of(recording.manifest), protocol.delta_layout
        most = deepest(recording, task) if protocol.logs and not protocol.in_storage else 0
        self.found = Followed(Depth(None), [Depth(depth) for depth in range(1, most + 1)])
        # When something of the task's logs came to an attempt, at any of the depths.
        self.arrived_us: dict[Execution, list[int]] = {}
        self.same = self._computed_as_recorded(protocol.sharing_depth)

    def _computed_as_recorded(self, depth: int | None) -> Depth | None:
        computed = self.found.computed
        return computed[min(depth or len(computed), len(computed)) - 1] if computed else None

    @property
    def depths(self) -> list[Depth]:
        return [self.found.recorded, *(one for one in self.found.computed if not one.given_up)]

    def follow(self) -> Followed:
        if self.recording.manifest.protocol.logs:
            below = self.graph.all_downstream(self.task)
            for holder in (one for one in self.graph.order if one in below):
                inputs = [self.graph.channel(one) for one in self.graph.task(holder).inputs]
                named = {one.i: self._send(one) for one in inputs if one.source == self.task or one.source in below}
                for attempt in self.attempts(holder):
                    self._receive(holder, attempt, named)
                for one in inputs:
                    self._count_lost(one.id)
            self._leave_with_the_world()
        self.found.uncompared = self.same is not None and self.same.given_up
        return self.found

    # --- sending ---

    def _send(self, channel: Channel) -> set[Key]:
        """Every sending on a channel, in time; returns their keys."""
        named: set[Key] = set()
        for attempt in self.attempts(channel.source):
            frames = readable(
                channel.id, self.recording.sendings(channel.source, attempt, channel.k), self.found.recorded.faults
            )
            sent = [
                (one.t_us, one.seq, one.sending, one.receiver_attempt, self._extents(channel, attempt, one))
                for one in frames
            ]
            sent.sort(key=lambda one: one[0])
            named.update((attempt, seq, sending) for _, seq, sending, _, _ in sent)
            self._put(channel, attempt, sent)
        self._keep_within_bounds()
        return named

    def _put(self, channel: Channel, attempt: int, sent: Iterable[Sent]) -> None:
        own = channel.source == self.task
        relays = {} if own else self._relays(channel, attempt)
        placing = self._placing(channel, attempt)
        begins = AskedAgain(self.turns.asked_again.get((channel.id, attempt), []))
        for t_us, seq, sending, receiver, recorded in sent:
            from_epoch = begins.from_epoch(t_us, receiver, self._restored(channel, receiver, attempt))
            if from_epoch is not None:
                placing.begin(from_epoch)
                for relay in relays.values():
                    relay.begin(from_epoch)
            arrivals = 0 if own else placing.place(t_us, recorded)
            for depth in self.depths:
                carries = recorded
                if not own and depth is not self.found.recorded:
                    passing_on = relays.get(depth.depth)
                    carries = passing_on.delta(t_us, arrivals) if passing_on is not None else []
                    if depth is self.same:
                        self._compare(channel.id, seq, recorded, carries)
                if carries:
                    depth.send(channel.id, (attempt, seq, sending), t_us, carries)

    def _restored(self, channel: Channel, receiver: int, sender: int) -> int:
        if channel.target == WORLD:
            return self.turns.restored.get((channel.source, sender), 0)
        return self.turns.restored.get((channel.target, receiver), 0)

    def _hops(self, channel: Channel) -> int:
        return (self.graph.distance(self.task, channel.source) or 0) + 1

    def _relays(self, channel: Channel, attempt: int) -> dict[int | None, Consumer]:
        """Of every depth at which the sender passes the task's logs on."""
        who = channel.source, attempt
        return {
            one.depth: Consumer(one.copies.get(who) or Copies(), self.turns.forgot.get(who, []))
            for one in self.depths
            if one.depth is not None and self._hops(channel) <= one.depth
        }

    def _placing(self, channel: Channel, attempt: int) -> Placing:
        who, depth = (channel.source, attempt), self.recording.manifest.protocol.sharing_depth
        return Placing(
            self.found.recorded.copies.get(who) or Copies(),
            self.arrived_us.get(who, []),
            relays=depth is None or self._hops(channel) <= depth,
            to_world=channel.target == WORLD,
        )

    def _compare(self, channel: ChannelId, seq: int, recorded: list[Extent], computed: list[Extent]) -> None:
        if recorded or computed:
            self.found.compared += 1
            if not same_extents(recorded, computed):
                self.found.unlike += 1
                self.found.first_unlike = self.found.first_unlike or (channel, seq)

    def _extents(self, channel: Channel, attempt: int, frame: SendingFrame) -> list[Extent]:
        if not frame.delta:
            return []
        try:
            extents = decode_extents(frame.delta, self.ids, self.layout)
        except ReplayError as fault:
            self.found.recorded.faults.append(Fault(channel.id, frame.seq, str(fault)))
            return []
        return [
            Extent(
                one.log.thread,
                one.epoch,
                one.offset,
                one.offset + one.length,
                self._attempt_of(channel, attempt, (one.log.thread, one.epoch), one.offset + one.length, frame.t_us),
            )
            for one in extents
            if one.log.task == self.task
        ]

    def _attempt_of(self, channel: Channel, attempt: int, place: tuple[str, int], upto: int, t_us: int) -> int:
        """Whose bytes these are: the sender's own, or of the attempt from which the relaying sender had them."""
        if channel.source == self.task:
            return attempt
        copies = self.found.recorded.copies.get((channel.source, attempt))
        whose = copies.attempt_of(place, upto) if copies is not None else None
        return attempt_at(self.lives, self.task, t_us) if whose is None else whose

    # --- receiving ---

    def _receive(self, holder: TaskId, attempt: int, named: dict[int, set[Key]]) -> None:
        channels = self.graph.task(holder).inputs
        arrivals: list[tuple[int, int, Key]] = []
        for i, keys in named.items():
            for one in readable(channels[i], self.recording.receipts(holder, attempt, i), self.found.recorded.faults):
                key = one.sender_attempt, one.seq, one.sending
                if key not in keys:
                    self.found.unknown += 1
                elif any(depth.carries(channels[i], key) for depth in self.depths):
                    arrivals.append((one.received_us, i, key))
        arrivals.sort(key=lambda one: one[:2])
        self.arrived_us[holder, attempt] = [t_us for t_us, _, _ in arrivals]
        for depth in self.depths:
            copies = Copies()
            for n, (t_us, i, key) in enumerate(arrivals):
                self._take(depth, channels[i], n, t_us, key, copies)
            if copies.grown:
                depth.copies[holder, attempt] = copies
        self._keep_within_bounds()

    def _take(self, depth: Depth, channel: ChannelId, n: int, t_us: int, key: Key, copies: Copies) -> None:
        what = depth.arrive(channel, key)
        if what is None:
            return
        sent_us, extents = what
        new = copies.take(n, t_us, extents)
        if new is None:
            depth.faults.append(Fault(channel, key[1], "it begins past what its receiver held"))
            new = {}
        mine = sum(one.upto - one.offset for one in extents if one.attempt == self.attempt)
        if not mine or sent_us > self.until_us:
            return
        fresh = new.get(self.attempt, 0)
        arrived = t_us <= self.until_us
        counts = Carried(fresh, mine - fresh, 0, 1) if arrived else Carried(0, 0, mine, 1)
        depth.carried.setdefault(channel, Carried()).add(counts)

    def _count_lost(self, channel: ChannelId) -> None:
        for depth in self.depths:
            for sent_us, extents in depth.lost(channel):
                mine = sum(one.upto - one.offset for one in extents if one.attempt == self.attempt)
                if mine and sent_us <= self.until_us:
                    depth.carried.setdefault(channel, Carried()).add(Carried(0, 0, mine, 1))

    def _leave_with_the_world(self) -> None:
        """What writers left with the world outside; it is one for all, and a rollback makes it forget."""
        left, faults = list[tuple[int, ChannelId, Key]](), self.found.recorded.faults
        for channel, attempt, frames in left_with_the_world(self.recording, self.task, self.attempts, faults):
            sent = [(one.t_us, one.seq, one.sending, 0, self._extents(channel, attempt, one)) for one in frames]
            sent.sort(key=lambda one: one[0])
            self._put(channel, attempt, sent)
            left.extend((t_us, channel.id, (attempt, seq, sending)) for t_us, seq, sending, _, _ in sent)
        left.sort(key=lambda one: one[0])
        for depth in self.depths:
            for n, (t_us, of, key) in enumerate(left):
                who = TaskId(WORLD), self.turns.lineage(t_us)
                self._take(depth, of, n, t_us, key, depth.copies.setdefault(who, Copies()))

    # --- bounds ---

    def _keep_within_bounds(self) -> None:
        while sum(one.extents for one in self.depths) > MOST_EXTENTS:
            deepest_one = next((one for one in reversed(self.found.computed) if not one.given_up), None)
            if deepest_one is None:
                return
            deepest_one.give_up()
