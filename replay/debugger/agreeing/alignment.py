"""Inputs that brought a barrier, as receipts tell: nothing more of one is taken before the others brought theirs, or
the checkpoint is let go. Where choices are logged the log tells of that; elsewhere only events do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import barrier_of, placed_buffers, placed_receipts
from replay.model import Channel, TaskId


def check_alignment(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first buffer that was taken though its input was to wait."""
    if source.manifest.clock.kind != "virtual" or source.manifest.protocol.logs:
        return
    let_go = {
        (event.get("task"), event.get("attempt"), event.get("checkpoint"))
        for event in source.events()
        if event.get("type") == "checkpoint-ignored"
    }
    barriers: dict[str, Mapping[tuple[int, int], int]] = {}
    for task in source.graph.order:
        channels = [source.graph.channel(one) for one in source.graph.task(task).inputs]
        barriers |= {one.id: _barriers_on(source, one) for one in channels}
        for attempt in source.attempts(task):
            _Inputs(source, task, attempt, let_go, barriers).run(channels)


def _barriers_on(source: RecordingSource, channel: Channel) -> dict[tuple[int, int], int]:
    """By the attempt that sent them and their numbers: the epochs that they begin."""
    return {
        (attempt, placed.frame.seq): begins
        for attempt in source.attempts(channel.source)
        for placed in placed_buffers(source, channel.source, attempt, channel.k)
        if (begins := barrier_of(placed.frame)) is not None
    }


class _Taken(NamedTuple):
    """In the order of taking; `epoch` is that of who took it."""

    epoch: int
    taken_us: int
    path: str
    offset: int
    seq: int
    barrier: int | None


@dataclass(slots=True)
class _Inputs:
    source: RecordingSource
    task: TaskId
    attempt: int
    let_go: set[tuple[object, object, object]]
    barriers: Mapping[str, Mapping[tuple[int, int], int]]
    brought: list[tuple[str, int, int]] = field(default_factory=list)

    def run(self, channels: list[Channel]) -> None:
        taken = {one: self._taken(one) for one in channels}
        self.brought = [
            (channel.id, one.taken_us, one.barrier)
            for channel, each in taken.items()
            for one in each
            if one.barrier is not None
        ]
        for channel, each in taken.items():
            waits: _Taken | None = None
            for one in each:
                if waits is not None and waits.epoch == one.epoch:
                    self._check_went_on(channel, waits.barrier or 0, one)
                waits = one if one.barrier is not None and one.barrier > one.epoch else None

    def _taken(self, channel: Channel) -> list[_Taken]:
        barriers = self.barriers[channel.id]
        return sorted(
            _Taken(one.epoch, one.taken_us, path, offset, one.seq, barriers.get((one.sender_attempt, one.seq)))
            for path, offset, one in placed_receipts(self.source, self.task, self.attempt, channel.i)
            if one.taken
        )

    def _check_went_on(self, channel: Channel, barrier: int, one: _Taken) -> None:
        """A later barrier of another input lets the earlier one go as well."""
        later = any(
            other != channel.id and taken_us <= one.taken_us and begins > barrier
            for other, taken_us, begins in self.brought
        )
        if later or (self.task, self.attempt, barrier) in self.let_go:
            return
        raise DivergenceFound(
            f"{one.path} at offset {one.offset}: buffer {one.seq} of {channel.id} was taken in epoch {one.epoch}, "
            f"after barrier {barrier}, with which that input waits for the others; no checkpoint-ignored event of "
            f"attempt {self.attempt} of {self.task} says that it let checkpoint {barrier} go.",
            member=one.path,
            offset=one.offset,
            channel=channel.id,
            checkpoint=barrier,
        )
