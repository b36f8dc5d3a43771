"""Whether what an attempt took, made and gave is all there, as far as the rest of the recording shows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, pairwise

from replay.bundle.members import member_name
from replay.debugger.agreeing.lacking import lack_of_attempt
from replay.debugger.recorded.story import Story
from replay.guarantees.recovery_types.streams import Streams
from replay.model import Channel, TaskId


def gone(streams: Streams, story: Story, task: TaskId, attempt: int) -> str:
    """The first part that is not there; nothing where nothing shows that anything is missing."""
    if any(event.get("type") == "gap" for event in story.of_attempt.get((task, attempt), ())):
        return f"what the recorder left out of attempt {attempt} of {task}"
    if streams.source.manifest.protocol.logs:
        lack = lack_of_attempt(streams.source, task, attempt)
        return "" if lack is None else lack.member
    return _gone_of_receipts(streams, story, task, attempt)


def _gone_of_receipts(streams: Streams, story: Story, task: TaskId, attempt: int) -> str:
    """Without logs buffers are sent again as new ones are: of each sender they come without gaps, and a snapshot knows
    the last of them."""
    source = streams.source
    restored = _next(streams, task, attempt, story.checkpoint_of(task, attempt), before=True)
    for name in source.graph.task(task).inputs:
        channel = source.graph.channel(name)
        seqs = _taken(streams, channel, attempt)
        path = f"tasks/{task}/{attempt}/received-{channel.i}/*.rcv"
        if any(those != list(range(those[0], those[0] + len(those))) for _, those in seqs):
            return path
        if source.manifest.protocol.name == "clonos" and any(
            those[0] != min(streams.frames(channel.source, sender, channel.k, 0), default=those[0])
            for sender, those in seqs[1:]
        ):
            return path  # who is there when a sender begins again is sent all of it
        there = {seq for _, those in seqs for seq in those}
        for checkpoint in source.epochs(task, attempt, "state"):
            following = _next(streams, task, attempt, checkpoint).get(name, 0)
            if following > restored.get(name, 0) and following - 1 not in there:
                return path
    return ""


def _taken(streams: Streams, channel: Channel, attempt: int) -> list[tuple[int, list[int]]]:
    """The numbers of what was taken, sender by sender."""
    takes = streams.takes(channel, attempt)
    by_sender = groupby(takes, key=lambda one: one.sender_attempt)
    return [(sender, [one.seq for one in those]) for sender, those in by_sender]


def gone_of_writes(streams: Streams, task: TaskId, attempts: Mapping[int, int], checkpoint: int) -> str:
    """Of a task that gives what it takes to the outside at once: lines of an epoch in which it processed records, where
    another execution of that epoch has some. `attempts`: up to which epoch each may have held back what it wrote."""
    lines = {one: set(streams.source.epochs(task, one, "sink")) for one in attempts}
    for attempt, held_back in attempts.items():
        for epoch in sorted(set().union(*lines.values()) - lines[attempt]):
            if epoch >= checkpoint and epoch > held_back and _processed(streams, task, attempt, epoch):
                return member_name(task, attempt, "sink", epoch)
    return ""


def _processed(streams: Streams, task: TaskId, attempt: int, epoch: int) -> bool:
    """Whether it had done any record of the epoch before it took the next buffer; watermarks count as elements too."""
    takes = [
        (one.taken_us, one.record_count, one.seq in streams.events(channel.source, one.sender_attempt, channel.k, 0))
        for channel in map(streams.source.graph.channel, streams.source.graph.task(task).inputs)
        for one in streams.takes(channel, attempt)
        if one.epoch == epoch
    ]
    takes.sort()
    return any(not is_event and after[1] > count for (_, count, is_event), after in pairwise(takes))


def gone_of_source(streams: Streams, task: TaskId, attempt: int, checkpoint: int) -> str:
    """What a source read in an epoch of which it sent records."""
    read = set(streams.source.epochs(task, attempt, "source"))
    for output in streams.source.graph.task(task).outputs:
        channel = streams.source.graph.channel(output.channel)
        for frame in streams.buffers(task, attempt, channel.k, checkpoint):
            if not frame.is_event and frame.epoch not in read:
                return member_name(task, attempt, "source", frame.epoch)
    return ""


def _next(streams: Streams, task: TaskId, attempt: int, checkpoint: int, *, before: bool = False) -> dict[str, int]:
    """What a snapshot says comes next of each input; with `before`, of the one that an attempt began with."""
    attempts = [one for one in streams.source.attempts(task) if one <= attempt] if before else [attempt]
    for one in reversed(attempts):
        state = streams.source.state(task, one, checkpoint) if checkpoint else None
        held = None if state is None else state.get("inputs")
        if isinstance(held, dict):
            return {str(name): seq for name, seq in held.items() if type(seq) is int}
    return {}
