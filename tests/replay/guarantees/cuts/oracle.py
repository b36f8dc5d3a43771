"""What a cut contains, worked out from frames and snapshots by hand, slowly: the truth that `Cuts` is held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from replay.bundle.reader import Bundle
from replay.model import Channel

Sent = frozenset[tuple[int, bytes]]
Place = tuple[int, int]
"""(attempt, time)"""


@dataclass(frozen=True)
class Oracle:
    """A stand is an attempt and a time: it holds what its snapshot held, and what the attempt did up to then."""

    bundle: Bundle

    @cached_property
    def starts(self) -> dict[tuple[str, int], tuple[int, int]]:
        return {
            (one["task"], one["attempt"]): (one["t_us"], one["checkpoint"])
            for one in self.bundle.events()
            if one["type"] == "attempt-started"
        }

    @cached_property
    def acknowledged(self) -> dict[tuple[str, int], tuple[int, int]]:
        """(task, checkpoint) to (attempt, time)."""
        return {
            (one["task"], one["checkpoint"]): (one["attempt"], one["t_us"])
            for one in self.bundle.events()
            if one["type"] == "checkpoint-acknowledged"
        }

    def attempt_at(self, task: str, t_us: int) -> int:
        return max((n for (one, n), (at, _) in self.starts.items() if one == task and at <= t_us), default=0)

    def _before(self, task: str, attempt: int) -> tuple[int, int] | None:
        """(attempt, checkpoint) of the snapshot that it began from."""
        checkpoint = self.starts[task, attempt][1]
        return (self.acknowledged[task, checkpoint][0], checkpoint) if checkpoint else None

    def sent(self, channel: Channel, place: Place) -> list[tuple[int, bytes]]:
        attempt, t_us = place
        own = [
            (one.seq, bytes([one.flags & 1]) + one.payload)
            for one in self.bundle.buffers(channel.source, attempt, channel.k)
            if one.t_us <= t_us
        ]
        before = self._before(channel.source, attempt)
        return own + (self._sent_in(channel, *before) if before else [])

    def _sent_in(self, channel: Channel, attempt: int, checkpoint: int) -> list[tuple[int, bytes]]:
        state = self.bundle.state(channel.source, attempt, checkpoint)
        assert state is not None
        return [one for one in self.sent(channel, (attempt, 1 << 60)) if one[0] < state["outputs"][channel.id]]

    def taken(self, channel: Channel, place: Place) -> list[tuple[int, bytes]]:
        attempt, t_us = place
        contents = self._contents(channel)
        own = [
            (one.seq, contents[one.sender_attempt, one.seq])
            for one in self.bundle.receipts(channel.target, attempt, channel.i)
            if one.taken and one.taken_us <= t_us
        ]
        before = self._before(channel.target, attempt)
        return own + (self._taken_in(channel, *before) if before else [])

    def _taken_in(self, channel: Channel, attempt: int, checkpoint: int) -> list[tuple[int, bytes]]:
        """What was taken up to the barrier, which is the last of its number before the task told that it was done."""
        state = self.bundle.state(channel.target, attempt, checkpoint)
        assert state is not None
        last = state["inputs"][channel.id] - 1
        takes = [one for one in self.bundle.receipts(channel.target, attempt, channel.i) if one.taken]
        done_us = self.acknowledged[channel.target, checkpoint][1]
        upto_us = max((one.taken_us for one in takes if one.seq == last and one.taken_us <= done_us), default=-1)
        return self.taken(channel, (attempt, upto_us))

    def _contents(self, channel: Channel) -> dict[tuple[int, int], bytes]:
        return {
            (attempt, one.seq): bytes([one.flags & 1]) + one.payload
            for attempt in self.bundle.attempts(channel.source)
            for one in self.bundle.buffers(channel.source, attempt, channel.k)
        }

    def orphans(self, channel: Channel, sender: Place, receiver: Place) -> list[tuple[int, bytes]]:
        sent = set(self.sent(channel, sender))
        return sorted(one for one in self.taken(channel, receiver) if one not in sent)

    def in_flight(self, channel: Channel, sender: Place, receiver: Place) -> list[int]:
        taken = set(self.taken(channel, receiver))
        return sorted(one[0] for one in self.sent(channel, sender) if one not in taken)

    def places(self, task: str, t_us: int) -> list[Place]:
        """Where it ever stood on the way to where it stands at that time, the earliest first."""
        attempt, upto = self.attempt_at(task, t_us), t_us
        found: list[Place] = []
        while True:
            found += [(attempt, at) for at in sorted(self._times(task, attempt), reverse=True) if at <= upto]
            found.append((attempt, self.starts[task, attempt][0] - 1))
            before = self._before(task, attempt)
            if before is None:
                return found[::-1]
            attempt, upto = before[0], self._last_us(task, *before)

    def _last_us(self, task: str, attempt: int, checkpoint: int) -> int:
        """The last of its events after which everything that it had done is in the snapshot."""
        graph = self.bundle.graph
        outputs = [graph.channel(one.channel) for one in graph.task(task).outputs]
        inputs = [graph.channel(one) for one in graph.task(task).inputs]

        def is_in_it(at: int) -> bool:
            place = (attempt, at)
            sent = all(set(self.sent(c, place)) <= set(self._sent_in(c, attempt, checkpoint)) for c in outputs)
            return sent and all(
                len(self.taken(c, place)) <= len(self._taken_in(c, attempt, checkpoint)) for c in inputs
            )

        return max((at for at in self._times(task, attempt) if is_in_it(at)), default=-1)

    def _times(self, task: str, attempt: int) -> set[int]:
        shape = self.bundle.graph.task(task)
        cut = {one.t_us for k in range(len(shape.outputs)) for one in self.bundle.buffers(task, attempt, k)}
        took = {one.taken_us for i in range(len(shape.inputs)) for one in self.bundle.receipts(task, attempt, i)}
        return {one for one in cut | took if one >= 0}
