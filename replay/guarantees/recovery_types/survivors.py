"""Who lived on past a failure, and up to when what an attempt did that did not lives on in those who depend on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.causality.life import ORPHAN, life_of
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.guarantees.recovery_types.streams import Streams
from replay.model import Channel

FOREVER = math.inf


@dataclass(slots=True)
class Survivors:
    """Seen from a moment: that when a new attempt began. `counted`: whether a line of a sink counts."""

    source: RecordingSource
    story: Story
    streams: Streams
    t_us: int
    epoch: int
    _known: dict[tuple[str, int], float] = field(default_factory=dict)

    def attempts(self, task: str) -> Iterator[int]:
        """Those that began before the moment, and what came later: all that may have taken something."""
        yield from self.source.attempts(task)

    def alive(self, task: str, attempt: int) -> bool:
        """Whether it lived on: what was given up because it followed from lost choices, or ended before, did not."""
        life = life_of(self.story.lives, task, attempt)
        if life is None:
            return True
        return life.ended_us > self.t_us and not self._given_up(task, attempt)

    def _given_up(self, task: str, attempt: int) -> bool:
        life = life_of(self.story.lives, task, attempt)
        failure = None if life is None or life.failure is None else self.story.failures.get(life.failure)
        return failure is not None and str(failure.get("cause", "")).startswith(ORPHAN)

    def until_us(self, task: str, attempt: int) -> float:
        """Up to when what the attempt did matters to somebody: for ever where it lives on; -1: to nobody."""
        key = task, attempt
        if key not in self._known:
            self._known[key] = FOREVER if self.alive(task, attempt) else self._passed_on_us(task, attempt)
        return self._known[key]

    def _passed_on_us(self, task: str, attempt: int) -> float:
        """When it cut the last buffer that somebody took who matters, or gave something to the outside."""
        last = self._outside_us(task, attempt)
        for output in self.source.graph.task(task).outputs:
            channel = self.source.graph.channel(output.channel)
            seen = {seq for one in self.attempts(channel.target) for sender, seq in self.seen(channel, one)
                    if sender == attempt}  # fmt: skip
            cut_us = self.streams.cut_us(task, attempt, channel.k, self.epoch) if seen else {}
            last = max([last, *(cut_us[seq] for seq in seen if seq in cut_us)])
        return last

    def seen(self, channel: Channel, attempt: int) -> list[tuple[int, int]]:
        """(sender's attempt, number) of what an attempt of the receiver took, as far as that matters, in its order."""
        until_us = self.until_us(channel.target, attempt)
        if until_us < 0:
            return []
        return [
            (one.sender_attempt, one.seq) for one in self.streams.takes(channel, attempt) if one.taken_us <= until_us
        ]

    def _outside_us(self, task: str, attempt: int) -> float:
        """A world that keeps nothing back until a transaction is committed has seen all that was written."""
        if self.source.manifest.protocol.sink == "transactional" and not self.source.graph.task(task).outputs:
            return -1
        last = -1.0
        for epoch in self.source.epochs(task, attempt, "sink"):
            if epoch < self.epoch:
                continue  # a write-ahead log is flushed late: what it holds came before the checkpoint
            path = member_name(task, attempt, "sink", epoch)
            with self.source.members.open(path) as stream:
                for _, line in read_lines(stream, path):
                    t_us = line.get("t_us")
                    last = max(last, t_us if isinstance(t_us, int) else FOREVER)
        return last
