"""Recovery lines of a recording: where its tasks would have had to go back to, were checkpoints all that there is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from replay.guarantees.cuts.cut import Cut, Stand
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.histories import Snapshot
from replay.guarantees.cuts.pattern import Line, Message, Pattern
from replay.model import Channel, TaskId


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Of every task those that it had taken when a cut was, the earliest first, as a pattern and by their numbers."""

    pattern: Pattern
    of_task: Mapping[TaskId, tuple[Snapshot, ...]]

    def named(self, line: Line) -> dict[TaskId, int | None]:
        """A line in the recording's checkpoint numbers; None: a task that keeps what it has."""
        found: dict[TaskId, int | None] = {}
        for task, snapshots in self.of_task.items():
            at = line[task]
            found[task] = None if at > len(snapshots) else snapshots[at - 1].checkpoint if at else 0
        return found


def numbers_tell(cuts: Cuts) -> bool:
    """Whether a buffer's number says which it is; else buffers are taken again under numbers that others had."""
    protocol = cuts.source.manifest.protocol
    return protocol.name == "coordinated" or (protocol.logs and protocol.on_lost != "continue")


def snapshots_before(cuts: Cuts, cut: Cut) -> Snapshots:
    """What there was to go back to."""
    of_task = {task: tuple(_of(cuts, stand)) for task, stand in cut.stands.items()}
    messages: list[Message] = []
    for channel in cuts.source.graph.channels:
        messages += _messages(cuts, channel, cut, of_task)
    return Snapshots(Pattern({task: len(those) for task, those in of_task.items()}, tuple(messages)), of_task)


def _of(cuts: Cuts, stand: Stand) -> list[Snapshot]:
    """Those of the attempt, and of the ones that it continues."""
    histories, found = cuts.histories, []
    attempt, upto = stand.attempt, None
    while True:
        for checkpoint in sorted(cuts.source.epochs(stand.task, attempt, "state"), reverse=True):
            told_us = histories.acknowledged.get((stand.task, attempt, checkpoint))
            there = checkpoint <= upto if upto is not None else told_us is not None and told_us <= stand.t_us
            snapshot = histories.snapshot(stand.task, attempt, checkpoint) if there else None
            if snapshot is not None:
                found.append(snapshot)
        began = histories.begin(stand.task, attempt).snapshot
        if began is None:
            return found[::-1]
        attempt, upto = began.attempt, began.checkpoint


def _messages(
    cuts: Cuts, channel: Channel, cut: Cut, of_task: Mapping[TaskId, tuple[Snapshot, ...]]
) -> Iterator[Message]:
    """One for all that was sent in one interval and received in one."""
    sent = [one.outputs[channel.k] for one in of_task[channel.source]]
    taken = [one.inputs[channel.i] for one in of_task[channel.target]]
    sent_upto = cut.stands[channel.source].sent[channel.k]
    taken_upto = cuts.taken_upto(channel, cut.stands[channel.target])
    edges = sorted({0, *sent, *taken, sent_upto, taken_upto})
    for first, end in pairwise(edges):
        received = bisect_right(taken, first) + 1 if first < taken_upto else None
        # What was taken and is not sent any more lies beyond all that its sender has.
        interval = bisect_right(sent, first) + 1 + (first >= sent_upto)
        yield Message(f"{channel.id}#{first}-{end - 1}", channel.source, interval, channel.target, received)
