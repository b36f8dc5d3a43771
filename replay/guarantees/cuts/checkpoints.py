"""Checkpoints as cuts: held against the numbers in their snapshots, and against what was really taken and sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from replay.bundle.members import member_name
from replay.guarantees.cuts.cut import Cut, Orphan
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.histories import Snapshot
from replay.model import ChannelId, TaskId

MOST_ORPHANS = 1_000


@dataclass(frozen=True, slots=True)
class Gap:
    """Of one channel the snapshots number the next buffer unlike: `taken` at its receiver, `sent` at its sender."""

    channel: ChannelId
    sender: Snapshot
    receiver: Snapshot
    sent: int
    taken: int

    @property
    def evidence(self) -> list[str]:
        """The two snapshots."""
        return [f"state:{one.task}/{one.attempt}/{one.checkpoint}" for one in (self.receiver, self.sender)]


@dataclass(slots=True)
class OfCheckpoint:
    """What is wrong with one. `ahead`: channels of which more was taken than sent; `behind`: less."""

    checkpoint: int
    event: int
    t_us: int
    ahead: list[Gap] = field(default_factory=list)
    behind: list[Gap] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)

    @property
    def orphan_count(self) -> int:
        """The buffers that refute it."""
        return max(len(self.orphans), sum(one.taken - one.sent for one in self.ahead))

    @property
    def in_flight(self) -> int:
        """The buffers that were sent before it and taken after it."""
        return sum(one.sent - one.taken for one in self.behind)

    @property
    def verdict(self) -> str:
        """In a word. A barrier is the last that its sender sent before and its receiver took: nothing lies between."""
        if self.ahead or self.orphans:
            return "inconsistent"
        if self.lacking:
            return "undecided"
        return "in flight" if self.behind else "consistent"

    def to_json(self) -> dict[str, Any]:
        """As among the numbers of a section."""
        return {
            "checkpoint": self.checkpoint,
            "completed_us": self.t_us,
            "verdict": self.verdict,
            "orphans": self.orphan_count,
            "in_flight": self.in_flight,
        }


def completed_checkpoints(cuts: Cuts) -> list[OfCheckpoint]:
    """Each completed one, in the order of their completion."""
    found = []
    for event in cuts.histories.completed:
        one = OfCheckpoint(event.checkpoint, event.n, event.t_us)
        _compare(cuts, one)
        found.append(one)
    return found


def _compare(cuts: Cuts, one: OfCheckpoint) -> None:
    snapshots = cuts.snapshots(one.checkpoint)
    there: dict[TaskId, Snapshot] = {}
    for task, snapshot in snapshots.items():
        if snapshot is None:
            one.lacking.append(_member_of(cuts, task, one.checkpoint))
        else:
            there[task] = snapshot
    for channel in cuts.source.graph.channels:
        if channel.source in there and channel.target in there:
            sender, receiver = there[channel.source], there[channel.target]
            gap = Gap(channel.id, sender, receiver, sender.outputs[channel.k], receiver.inputs[channel.i])
            if gap.taken > gap.sent:
                one.ahead.append(gap)
            elif gap.taken < gap.sent:
                one.behind.append(gap)
    if len(there) == len(snapshots):
        cut = Cut({task: cuts.at_snapshot(snapshot) for task, snapshot in there.items()})
        for orphan in cuts.orphans(cut):
            if len(one.orphans) == MOST_ORPHANS:
                break
            one.orphans.append(orphan)


def _member_of(cuts: Cuts, task: TaskId, checkpoint: int) -> str:
    told = (attempt for who, attempt, one in cuts.histories.acknowledged if (who, one) == (task, checkpoint))
    return member_name(task, next(told, 0), "state", checkpoint)
