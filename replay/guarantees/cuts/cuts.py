"""Cuts of a recording: at a time, at a checkpoint, the latest consistent one; what is an orphan and what on its way.

Reading takes a pass over all frames. After it a cut at a time costs a bisection per side of a channel, and so does the
latest consistent one, since a recording's channels lead nowhere back: senders are settled before their receivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from replay.debugger.ports import RecordingSource
from replay.guarantees.cuts.crossing import Crossing, SentPart, TakenPart
from replay.guarantees.cuts.cut import Cut, InFlight, Orphan, Stand
from replay.guarantees.cuts.histories import Histories, Snapshot
from replay.guarantees.cuts.traffic import Traffic
from replay.model import Channel, TaskId


class Cuts:
    """Made once for a recording, asked often."""

    def __init__(self, source: RecordingSource):
        self.source = source
        self.traffic = Traffic(source)
        self.histories = Histories(source, self.traffic)
        self._crossings = {channel.id: Crossing(self.histories, channel) for channel in source.graph.channels}

    @classmethod
    def of(cls, source: RecordingSource) -> Cuts:
        """Of a recording."""
        return cls(source)

    # --- cuts ---

    def at(self, t_us: int) -> Cut:
        """Where every task stood at that time; one that had failed stands where its attempt ended."""
        return Cut({task: self.stand(task, t_us) for task in self.source.graph.order})

    def stand(self, task: TaskId, t_us: int, attempt: int | None = None) -> Stand:
        """Where a task stood at a time; in an attempt that had followed by then, where it is named."""
        if attempt is None:
            attempt = self.histories.attempt_at(task, t_us)
        taken = tuple(self.traffic.taken(c, attempt).before(t_us) for c in self.histories.inputs(task))
        sent = []
        for channel in self.histories.outputs(task):
            cutting = self.traffic.cut(channel, attempt)
            count = cutting.before(t_us)
            first = self._crossings[channel.id].sent_from(attempt)
            sent.append(cutting.seqs[count - 1] + 1 if count else first)
        return Stand(task, attempt, t_us, taken, tuple(sent))

    def at_snapshot(self, snapshot: Snapshot) -> Stand:
        """Where a task stood when it took a snapshot."""
        t_us = self.histories.acknowledged.get((snapshot.task, snapshot.attempt, snapshot.checkpoint))
        if t_us is None:
            t_us = self.histories.begin(snapshot.task, snapshot.attempt).started_us
        taken = tuple(one or 0 for one in snapshot.takes)
        return Stand(snapshot.task, snapshot.attempt, t_us, taken, snapshot.outputs, snapshot.checkpoint)

    def at_the_beginning(self, task: TaskId, attempt: int) -> Stand:
        """Where an attempt stood before it did anything: in the snapshot that it began from."""
        begin = self.histories.begin(task, attempt)
        sent = tuple(self._crossings[c.id].sent_from(attempt) for c in self.histories.outputs(task))
        taken = (0,) * len(self.histories.inputs(task))
        return Stand(task, attempt, begin.started_us, taken, sent, begin.checkpoint)

    def snapshots(self, checkpoint: int) -> dict[TaskId, Snapshot | None]:
        """What every task has in a checkpoint: by the attempt that told so, else by the latest that has one."""
        found: dict[TaskId, Snapshot | None] = {}
        told = {task: attempt for task, attempt, one in self.histories.acknowledged if one == checkpoint}
        for task in self.source.graph.order:
            attempt = told.get(task)
            own = None if attempt is None else self.histories.snapshot(task, attempt, checkpoint)
            upto = max(self.histories.attempts(task), default=0)
            found[task] = own or self.histories.latest(task, checkpoint, upto)
        return found

    def latest_before(self, t_us: int) -> Cut:
        """The latest consistent cut that is nowhere past that time: no task could stand later in any other."""
        return self.consistent(self.at(t_us))

    def consistent(self, cut: Cut) -> Cut:
        """The latest consistent cut that is nowhere past a cut: who took what is not sent there goes back before it."""
        stands: dict[TaskId, Stand] = {}
        for task in self.source.graph.order:
            stand = cut.stands[task]
            while (back := self._goes_back(stands, stand)) is not None:
                stand = back
            stands[task] = stand
        return Cut(stands)

    def _goes_back(self, settled: dict[TaskId, Stand], stand: Stand) -> Stand | None:
        """Before the first orphan; a rollback of its own may have left that behind, so another one may follow."""
        firsts = []
        for channel in self.histories.inputs(stand.task):
            first = self._crossings[channel.id].first_orphan(settled[channel.source], stand)
            if first is not None:
                firsts.append(first)
        if not firsts:
            return None
        attempt, taken_us = min(firsts)
        return self.stand(stand.task, taken_us - 1, attempt)

    # --- what is in them ---

    def is_consistent(self, cut: Cut) -> bool:
        """Whether nothing was taken in it that was not sent in it."""
        return next(self.orphans(cut), None) is None

    def orphans(self, cut: Cut) -> Iterator[Orphan]:
        """What refutes that it is consistent, channel by channel."""
        for channel in self.source.graph.channels:
            sender, receiver = cut.stands[channel.source], cut.stands[channel.target]
            yield from self._crossings[channel.id].orphans(sender, receiver)

    def in_flight(self, cut: Cut) -> list[InFlight]:
        """What was sent in it and not taken, channel by channel."""
        return [
            one
            for channel in self.source.graph.channels
            for one in self._crossings[channel.id].in_flight(cut.stands[channel.source], cut.stands[channel.target])
        ]

    def taken_upto(self, channel: Channel, receiver: Stand) -> int:
        """The number behind the highest that a task has taken from a channel where it stands."""
        return self._crossings[channel.id].taken_upto(receiver)

    def taken_parts(self, channel: Channel, receiver: Stand) -> list[TakenPart]:
        """The attempts that a stand continues, each with how many of its takes count."""
        return self._crossings[channel.id].taken_parts(receiver)

    def sent_parts(self, channel: Channel, sender: Stand) -> tuple[SentPart, ...]:
        """The attempts that a stand continues, each with the numbers that count."""
        return self._crossings[channel.id].sent_parts(sender)

    def sent_again(self, channel: Channel, sender: Stand, receiver: Stand) -> list[InFlight]:
        """What is in flight between two stands of its tasks."""
        return self._crossings[channel.id].in_flight(sender, receiver)

    def orphans_between(self, channel: Channel, sender: Stand, receiver: Stand) -> Iterator[Orphan]:
        """What is an orphan between two stands of its tasks."""
        return self._crossings[channel.id].orphans(sender, receiver)

    @property
    def unknown(self) -> list[str]:
        """The buffers that were taken, or were sent twice, and that no member has: of those nothing is said."""
        return [
            f"buffer:{channel}/{attempt}#{seq}"
            for channel, crossing in self._crossings.items()
            for attempt, seq in sorted(crossing.unknown)
        ]

    @cached_property
    def end_us(self) -> int:
        """When the last thing happened that the recording tells of."""
        return max(self._ends(), default=0)

    def _ends(self) -> Iterable[int]:
        for lives in self.histories.story.lives.values():
            yield from (one.ended_us for one in lives)
        for channel in self.source.graph.channels:
            for attempt in self.histories.attempts(channel.source):
                yield from self.traffic.cut(channel, attempt).cut_us[-1:]
            for attempt in self.histories.attempts(channel.target):
                yield from self.traffic.taken(channel, attempt).taken_us[-1:]
