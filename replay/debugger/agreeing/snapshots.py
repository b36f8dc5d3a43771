"""Snapshots and the barriers that they were taken at, held against the members that tell where their attempt stood."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import barrier_of, placed_buffers, placed_receipts
from replay.model import Channel, TaskId


def check_snapshots(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first snapshot that says of a channel what its buffers and receipts don't.

    It is taken at a barrier: that is the last buffer of an output before it, and the last taken of an input.
    """
    _of_all(source, _Snapshots.compare)


def check_barriers(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first barrier of a completed checkpoint that whoever acknowledged it did not pass
    on, or not take. For the end: what is damaged is named better by whoever reads it."""
    _of_all(source, _Snapshots.check_barriers)


def _of_all(source: RecordingSource, check: Callable[[_Snapshots, TaskId, int], None]) -> None:
    if source.manifest.clock.kind != "virtual":
        return
    snapshots = _Snapshots(source)
    for task in source.graph.order:
        for attempt in source.attempts(task):
            check(snapshots, task, attempt)


class _Barrier(NamedTuple):
    """Where it stands. `epoch` is the one that it ends."""

    path: str
    offset: int
    seq: int
    epoch: int


@dataclass(slots=True)
class _Snapshots:
    source: RecordingSource
    _barriers: dict[tuple[str, int, int], dict[int, _Barrier]] = field(default_factory=dict)
    _passed: dict[tuple[str, int], list[int]] | None = None

    def compare(self, task: TaskId, attempt: int) -> None:
        """The snapshots of one attempt, its outputs first."""
        states = {one: self.source.state(task, attempt, one) or {} for one in self._checkpoints(task, attempt)}
        shape = self.source.graph.task(task)
        for k, output in enumerate(shape.outputs if states else ()):
            barriers = self._cut(task, attempt, k)
            for checkpoint in states.keys() & barriers.keys():
                state, barrier = states[checkpoint], barriers[checkpoint]
                _compare(task, attempt, checkpoint, state, "outputs", output.channel, barrier, "is")
        for i, channel in enumerate(shape.inputs if states and self._takes_once else ()):
            for checkpoint, barrier in self._taken(task, attempt, i).items():
                if checkpoint in states:
                    state = states[checkpoint]
                    _compare(task, attempt, checkpoint, state, "inputs", channel, barrier, "was taken as")

    @property
    def _takes_once(self) -> bool:
        """Else buffers are taken again under other numbers, and nothing is known of the next one."""
        protocol = self.source.manifest.protocol
        return protocol.name == "coordinated" or (protocol.logs and protocol.on_lost != "continue")

    def check_barriers(self, task: TaskId, attempt: int) -> None:
        """Those of what one attempt acknowledged."""
        if self._passed is None:
            self._passed = _passed(self.source)
        passed = self._passed.get((task, attempt), [])
        if len(passed) < 2:
            return
        shape = self.source.graph.task(task)
        for k in range(len(shape.outputs)):
            barriers = self._cut(task, attempt, k)
            for before, checkpoint in pairwise(passed):
                if checkpoint not in barriers:
                    self._not_cut(task, attempt, k, before, checkpoint)
        for i, channel in enumerate(shape.inputs):
            for checkpoint in set(passed[1:]) - self._taken(task, attempt, i).keys():
                self._not_taken(task, attempt, i, self.source.graph.channel(channel), checkpoint)

    def _begun_in(self, task: TaskId, attempt: int) -> list[int]:
        """The epochs that an attempt was in, as any of its members tells."""
        stems = (
            name.rpartition("/")[2].partition(".")[0] for name in self.source.members.names(f"tasks/{task}/{attempt}/")
        )
        return sorted({int(one) for one in stems if one.isascii() and one.isdigit()})

    def _checkpoints(self, task: TaskId, attempt: int) -> tuple[int, ...]:
        return tuple(self.source.epochs(task, attempt, "state"))

    def _cut(self, task: TaskId, attempt: int, k: int) -> dict[int, _Barrier]:
        """The barriers of an output, by the checkpoint that they are of."""
        key = str(task), attempt, k
        if key not in self._barriers:
            self._barriers[key] = {
                begins: _Barrier(placed.path, placed.offset, placed.frame.seq, placed.frame.epoch)
                for placed in placed_buffers(self.source, task, attempt, k)
                if (begins := barrier_of(placed.frame)) is not None
            }
        return self._barriers[key]

    def _taken(self, task: TaskId, attempt: int, i: int) -> dict[int, _Barrier]:
        """The receipts of the barriers that an attempt took from an input."""
        channel = self.source.graph.channel(self.source.graph.task(task).inputs[i])
        begins_at = {
            (sender, barrier.seq): (checkpoint, barrier.epoch)
            for sender in self.source.attempts(channel.source)
            for checkpoint, barrier in self._cut(channel.source, sender, channel.k).items()
        }
        found = {}
        for path, offset, receipt in placed_receipts(self.source, task, attempt, i):
            begins = begins_at.get((receipt.sender_attempt, receipt.seq))
            if receipt.taken and begins is not None:
                found[begins[0]] = _Barrier(path, offset, receipt.seq, begins[1])
        return found

    def _not_cut(self, task: TaskId, attempt: int, k: int, before: int, checkpoint: int) -> None:
        """Unless the member that had it is gone: a recording that lacks something contradicts nothing."""
        epochs = [before, *(one for one in self._begun_in(task, attempt) if before < one < checkpoint)]
        members = [member_name(task, attempt, f"sent-{k}", epoch, "buf") for epoch in epochs]
        if any(one not in self.source.members for one in members):
            return
        channel = self.source.graph.task(task).outputs[k].channel
        _lacks_barrier(task, attempt, checkpoint, members[-1], channel, f"was cut on {channel}")

    def _not_taken(self, task: TaskId, attempt: int, i: int, channel: Channel, checkpoint: int) -> None:
        """As `_not_cut`; where no sender cut it either, that is what is said."""
        senders = self.source.attempts(channel.source)
        found = [barriers[checkpoint] for one in senders if checkpoint in (barriers := self._cut(*_of(channel, one)))]
        if not found:
            return
        member = member_name(task, attempt, f"received-{i}", found[-1].epoch)
        if member in self.source.members:
            _lacks_barrier(task, attempt, checkpoint, member, channel.id, f"was taken from {channel.id}")


def _of(channel: Channel, sender: int) -> tuple[TaskId, int, int]:
    return channel.source, sender, channel.k


def _passed(source: RecordingSource) -> dict[tuple[str, int], list[int]]:
    """Of each attempt, where it began and what it acknowledged of checkpoints that were completed."""
    began: dict[tuple[str, int], int] = {}
    acknowledged: dict[int, list[tuple[str, int]]] = defaultdict(list)
    completed: list[int] = []
    for event in source.events():
        kind, checkpoint, task = event.get("type"), event.get("checkpoint"), event.get("task")
        attempt = event.get("attempt")
        if not isinstance(checkpoint, int):
            continue
        if kind == "checkpoint-completed":
            completed.append(checkpoint)
        elif isinstance(task, str) and isinstance(attempt, int):
            if kind == "attempt-started":
                began[task, attempt] = checkpoint
            elif kind == "checkpoint-acknowledged":
                acknowledged[checkpoint].append((task, attempt))
    found = {who: [checkpoint] for who, checkpoint in began.items()}
    for checkpoint in sorted(completed):
        for who in acknowledged[checkpoint]:
            if who in found:
                found[who].append(checkpoint)
    return found


def _compare(
    task: TaskId,
    attempt: int,
    checkpoint: int,
    state: Mapping[str, Any],
    side: str,
    channel: str,
    barrier: _Barrier,
    how: str,
) -> None:
    listed = state.get(side)
    found = listed.get(channel) if isinstance(listed, Mapping) else None
    expected = barrier.seq + 1
    if found == expected:
        return
    member = member_name(task, attempt, "state", checkpoint)
    raise DivergenceFound(
        f"{member} says that {found} is the next buffer of {channel}, but barrier {checkpoint} {how} buffer "
        f"{barrier.seq} ({barrier.path} at offset {barrier.offset}), so that {expected} is next.",
        member=member,
        other_member=barrier.path,
        other_offset=barrier.offset,
        channel=channel,
        asked=expected,
        logged=found,
    )


def _lacks_barrier(task: TaskId, attempt: int, checkpoint: int, member: str, channel: str, how: str) -> NoReturn:
    raise DivergenceFound(
        f"Attempt {attempt} of {task} acknowledged checkpoint {checkpoint}, which was completed, but nothing says that "
        f"its barrier {how}: it is missing in {member}, or before.",
        member=member,
        channel=channel,
        checkpoint=checkpoint,
    )
