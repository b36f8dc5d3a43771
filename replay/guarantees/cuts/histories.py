"""How the tasks of a recording came to where they were: their attempts, and the snapshots that those began from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from replay.causality.life import ENDED_WITH_RECORDING, Life
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError
from replay.guarantees.cuts.traffic import Traffic
from replay.model import Channel, TaskId

FOREVER_US = 1 << 62


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a task had in a checkpoint: the number of the next buffer of each input and output, in their order.

    `takes`: how many takes of that attempt were before it, by input; None where no receipt of the last one is there.
    """

    task: TaskId
    attempt: int
    checkpoint: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    takes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Where an attempt began. `snapshot` None: from nothing, or (where not `known`) from one that is not recorded."""

    started_us: int
    checkpoint: int
    snapshot: Snapshot | None
    known: bool


@dataclass(frozen=True, slots=True)
class Completed:
    """A checkpoint that was completed, by the event that tells so."""

    checkpoint: int
    n: int
    t_us: int


class Histories:
    """Of every task: which attempt it was in, and what that one continued."""

    def __init__(self, source: RecordingSource, traffic: Traffic):
        self.source = source
        self.traffic = traffic
        self.story = Story.read(source.events())
        self.faults: list[str] = [self.story.unreadable] if self.story.unreadable else []
        self.acknowledged: dict[tuple[str, int, int], int] = {}
        self.completed: list[Completed] = []
        self._read_checkpoints()
        self.begin = cache(self._begin)
        self.snapshot = cache(self._snapshot)
        self.attempts = cache(self._attempts)

    def _read_checkpoints(self) -> None:
        """When which attempt of which task told that it had its snapshot, and which checkpoints were completed."""
        try:
            for event in self.source.events():
                task, attempt, checkpoint = event.get("task"), event.get("attempt"), event.get("checkpoint")
                if type(checkpoint) is not int:
                    continue
                if event["type"] == "checkpoint-completed":
                    self.completed.append(Completed(checkpoint, event["n"], event["t_us"]))
                elif event["type"] == "checkpoint-acknowledged" and isinstance(task, str) and type(attempt) is int:
                    self.acknowledged[task, attempt, checkpoint] = event["t_us"]
        except ReplayError:
            return  # the story has named it

    def _attempts(self, task: TaskId) -> tuple[int, ...]:
        """Ascending: those that left anything, and those that events tell of."""
        return tuple(sorted({*self.source.attempts(task), *(one.attempt for one in self.story.lives.get(task, ()))}))

    def life(self, task: TaskId, attempt: int) -> Life | None:
        """When that attempt began and ended, if events tell."""
        return next((one for one in self.story.lives.get(task, ()) if one.attempt == attempt), None)

    def ended_us(self, task: TaskId, attempt: int) -> int:
        """When the attempt ended; a time after everything where it did not."""
        life = self.life(task, attempt)
        return FOREVER_US if life is None or life.ended_by == ENDED_WITH_RECORDING else life.ended_us

    def attempt_at(self, task: TaskId, t_us: int) -> int:
        """Which attempt the task was in: one that failed stays in it until the next one begins."""
        found = [one for one in self.attempts(task) if self.begin(task, one).started_us <= t_us]
        return max(found, default=min(self.attempts(task), default=0))

    def inputs(self, task: TaskId) -> list[Channel]:
        """The channels that lead to the task."""
        return [self.source.graph.channel(one) for one in self.source.graph.task(task).inputs]

    def outputs(self, task: TaskId) -> list[Channel]:
        """The channels that lead away from it."""
        return [self.source.graph.channel(one.channel) for one in self.source.graph.task(task).outputs]

    def _begin(self, task: TaskId, attempt: int) -> Begin:
        started = self.story.starts.get((task, attempt))
        checkpoint = self.story.checkpoint_of(task, attempt)
        if checkpoint:
            snapshot = self.latest(task, checkpoint, attempt - 1)
            return Begin(self._started_us(task, attempt), checkpoint, snapshot, snapshot is not None)
        known = started is not None or attempt == 0
        return Begin(self._started_us(task, attempt), 0, None, known)

    def _started_us(self, task: TaskId, attempt: int) -> int:
        life = self.life(task, attempt)
        if life is not None:
            return life.started_us
        times = [self.traffic.cut(one, attempt).cut_us[:1] for one in self.outputs(task)]
        times += [self.traffic.taken(one, attempt).taken_us[:1] for one in self.inputs(task)]
        return min((first for some in times for first in some), default=0)

    def latest(self, task: TaskId, checkpoint: int, upto: int) -> Snapshot | None:
        """The snapshot of that checkpoint by the latest attempt up to that one that took it."""
        for attempt in sorted(self.attempts(task), reverse=True):
            if attempt <= upto and (found := self.snapshot(task, attempt, checkpoint)) is not None:
                return found
        return None

    def _snapshot(self, task: TaskId, attempt: int, checkpoint: int) -> Snapshot | None:
        try:
            state = self.source.state(task, attempt, checkpoint)
        except ReplayError as fault:
            self.faults.append(str(fault))
            return None
        if state is None:
            return None
        inputs = [_next(state, "inputs", one) for one in self.inputs(task)]
        outputs = [_next(state, "outputs", one) for one in self.outputs(task)]
        if None in inputs or None in outputs:
            self.faults.append(f"state/{checkpoint}.json of attempt {attempt} of {task} does not number its channels")
            return None
        known = tuple(one or 0 for one in inputs)
        takes = tuple(self._takes(c, attempt, checkpoint, n) for c, n in zip(self.inputs(task), known, strict=True))
        return Snapshot(task, attempt, checkpoint, known, tuple(one or 0 for one in outputs), takes)

    def _takes(self, channel: Channel, attempt: int, checkpoint: int, following: int) -> int | None:
        """Up to the last take that the snapshot has."""
        upto_us = self.acknowledged.get((channel.target, attempt, checkpoint), FOREVER_US)
        taking = self.traffic.taken(channel, attempt)
        last = taking.last_before(following - 1, upto_us)
        if last is not None:
            return last + 1
        return None if taking.before(upto_us) else 0


def _next(state: Mapping[str, Any], side: str, channel: Channel) -> int | None:
    listed = state.get(side)
    value = listed.get(channel.id) if isinstance(listed, Mapping) else None
    return value if type(value) is int else None
