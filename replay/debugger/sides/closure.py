"""What may follow from something that a task did, and what can't: along the buffers that were taken, task by task.

A buffer or a write may be affected where its task, before it, did the thing itself or took a buffer that may be
affected. Everything else has nothing of it among its causes. What the coordinator did, and when, is taken as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers, placed_receipts
from replay.errors import CorruptMember
from replay.model import TaskId

Place = tuple[int, int, int]
"""Where a task stood when it took a buffer: (time, epoch, offset of its main log)."""


@dataclass(slots=True)
class Reached:
    """An attempt that may be affected: since when, through what, and of each output from which buffer on."""

    task: TaskId
    attempt: int
    since: Place | None
    through: str
    first: dict[str, int] = field(default_factory=dict)
    affected: int = 0
    unaffected: int = 0

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        return {
            "task": self.task,
            "attempt": self.attempt,
            "t_us": None if self.since is None else self.since[0],
            "epoch": None if self.since is None else self.since[1],
            "through": self.through,
            "first": dict(sorted(self.first.items())),
            "affected": self.affected,
            "unaffected": self.unaffected,
        }


class Closure:
    """Of one attempt's buffers from the given numbers on: `reached` are the attempts that may be affected by them.

    A later attempt of a task rebuilds the buffers of the one before under the same numbers, so what holds of a number
    holds of it in both.
    """

    def __init__(self, source: RecordingSource, task: TaskId, attempt: int, first: Mapping[str, int]):
        self._source = source
        self._exact = source.manifest.clock.kind == "virtual"
        self._first: dict[tuple[TaskId, int], dict[str, int]] = {(task, attempt): dict(first)}
        self.reached: dict[tuple[TaskId, int], Reached] = {}
        below = source.graph.all_downstream(task)
        for one in (task, *(each for each in source.graph.order if each in below)):
            for other in sorted(source.attempts(one)):
                if one != task or other > attempt:
                    self._reach(one, other)

    def may_affect(self, task: str, attempt: int, channel: str, seq: int) -> bool:
        """Whether that buffer has the thing among its causes."""
        first = self._first.get((TaskId(task), attempt), {}).get(channel)
        return first is not None and seq >= first

    def unreached(self) -> list[str]:
        """The tasks of which nothing can be affected."""
        touched = {task for task, _ in self._first}
        return [one for one in self._source.graph.order if one not in touched]

    def _reach(self, task: TaskId, attempt: int) -> None:
        inherited = self._inherited(task, attempt)
        since, through = min(self._takes(task, attempt), default=(None, ""))
        if since is None and inherited is None:
            return
        through = through or "the attempt before it, whose buffers it rebuilds"
        found = self.reached[task, attempt] = Reached(task, attempt, since, through, dict(inherited or {}))
        self._first[task, attempt] = found.first
        for k, output in enumerate(self._source.graph.task(task).outputs):
            for placed in placed_buffers(self._source, task, attempt, k):
                frame = placed.frame
                after = since is not None and not self._precedes(
                    (frame.t_us, frame.main_epoch, frame.main_offset), since
                )
                if after:
                    found.first[output.channel] = min(frame.seq, found.first.get(output.channel, frame.seq))
                if self.may_affect(task, attempt, output.channel, frame.seq):
                    found.affected += 1
                else:
                    found.unaffected += 1

    def _precedes(self, cut: Place, take: Place) -> bool:
        """Whether a buffer was cut before a take: by virtual time, else by where the main log stood at both."""
        return cut[0] < take[0] if self._exact else cut[1:] < take[1:]

    def _inherited(self, task: TaskId, attempt: int) -> dict[str, int] | None:
        """What may be affected of the attempts before."""
        found: dict[str, int] | None = None
        for (one, before), first in self._first.items():
            if one == task and before < attempt:
                found = found or {}
                for channel, seq in first.items():
                    found[channel] = min(seq, found.get(channel, seq))
        return found

    def _takes(self, task: TaskId, attempt: int) -> Iterator[tuple[Place, str]]:
        """The takes of buffers that may be affected."""
        graph = self._source.graph
        for i, name in enumerate(graph.task(task).inputs):
            sender = graph.channel(name).source
            for _, _, receipt in placed_receipts(self._source, task, attempt, i):
                if receipt.taken and self.may_affect(sender, receipt.sender_attempt, name, receipt.seq):
                    yield (receipt.taken_us, receipt.epoch, receipt.offset), f"buffer {receipt.seq} of {name}"


def told(source: RecordingSource, task: TaskId, attempt: int, first: Mapping[str, int]) -> dict[str, Any]:
    """For a report: the attempts below that may be affected, and the tasks that can't be; or why that can't be said."""
    try:
        closure = Closure(source, task, attempt, first)
    except DivergenceFound as found:
        return {"downstream": [], "untouched": [], "downstream_unknown": found.sentence}
    except CorruptMember as fault:
        return {"downstream": [], "untouched": [], "downstream_unknown": str(fault)}
    return {"downstream": [one.to_json() for one in closure.reached.values()], "untouched": closure.unreached()}
