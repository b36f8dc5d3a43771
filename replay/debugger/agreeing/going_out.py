"""When a buffer that an output cut must have gone out.

What is cut while its receiver is served goes out in that moment; where everything waits for the storage, with the write
that has its determinant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from replay.bundle.frames import FROM_IN_FLIGHT, BufferFrame, read_sendings
from replay.bundle.members import member_name
from replay.debugger.agreeing.sendings import Sent
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import CorruptMember
from replay.log.deltas import decode_extents
from replay.model import LogId, TaskId, thread_of_output

_TURNS = ("channel-lost", "channel-reconnected", "replay-request-received")
_NEVER = 1 << 62


class GoingOut:
    """Of one output of an attempt. Buffers are asked for in the order cut.

    It serves its receiver from the beginning of an execution that begins with all others, and from any buffer that went
    out as it was cut; until an event tells that the channel was lost, or is to be sent on again.
    """

    def __init__(self, source: RecordingSource, story: Story, task: TaskId, attempt: int, k: int):
        self._source, self._task, self._attempt, self._k = source, task, attempt, k
        protocol = source.manifest.protocol
        self._waits = protocol.waits
        tells = story.records_states or protocol.name == "coordinated"  # where no recovery has states
        self._tells = tells and source.manifest.clock.kind == "virtual"
        channel = source.graph.task(task).outputs[k].channel
        events = story.of_attempt.get((task, attempt), ())
        self._turns_us = sorted(
            int(one["t_us"]) for one in events if one.get("type") in _TURNS and one.get("channel") == channel
        )
        begins_connected = attempt == 0 or story.was_rolled_back_to(task, attempt)
        self._served_us = -1 if begins_connected else _NEVER
        self._stored: list[tuple[int, int, int]] | None = None

    def must_have_left(self, frame: BufferFrame, determinant_ends: int, sent: Iterable[Sent]) -> bool:
        """Whether it went out, whatever sendings there are; `determinant_ends`: where that of the buffer ends in the
        output's own log."""
        if not self._tells or frame.held_back:
            return False
        if any(not one.flags & FROM_IN_FLIGHT for one in sent):
            self._served_us = frame.t_us
            return True
        leaves_us = self._stored_us(frame.epoch, determinant_ends) if self._waits else frame.t_us
        turned = bisect_right(self._turns_us, leaves_us)
        is_served = self._served_us < frame.t_us and (not turned or self._turns_us[turned - 1] < self._served_us)
        return is_served and leaves_us < _NEVER

    def _stored_us(self, epoch: int, end: int) -> int:
        """When the storage had the output's own log of that epoch up to there; never, if no write says so."""
        if self._stored is None:
            self._stored = [*self._written()]
        return min((t_us for one, upto, t_us in self._stored if one == epoch and upto >= end > 0), default=_NEVER)

    def _written(self) -> Iterable[tuple[int, int, int]]:
        """(epoch, how far, when) of the output's own log, of each write."""
        own, layout = LogId(self._task, thread_of_output(self._k)), self._source.manifest.protocol.delta_layout
        for epoch in self._source.epochs(self._task, self._attempt, "world"):
            path = member_name(self._task, self._attempt, "world", epoch)
            try:
                with self._source.members.open(path) as stream:
                    frames = [one for _, one in read_sendings(stream, path=path)]
                extents = [
                    (decode_extents(one.delta, self._source.ids, layout), one.t_us) for one in frames if one.delta
                ]
            except CorruptMember:
                continue  # others say so
            yield from (
                (one.epoch, one.offset + one.length, t_us) for of, t_us in extents for one in of if one.log == own
            )
