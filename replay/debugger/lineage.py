"""Whose logs a replay follows: in which attempt's log of a lineage a determinant stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.debugger.ports import RecordingSource
from replay.model import TaskId, Thread


@dataclass(slots=True)
class Lineage:
    """`attempts`, the latest first: one that failed early had appended less than those whose work it continued."""

    source: RecordingSource
    task: TaskId
    attempts: tuple[int, ...]
    _lengths: dict[tuple[Thread, int], tuple[int, ...]] = field(default_factory=dict)

    def cause(self, thread: Thread, epoch: int, number: int, offset: int) -> str:
        """The determinant of that number and offset, as a cause: in the latest log that came so far."""
        log = thread, epoch
        if log not in self._lengths:
            self._lengths[log] = tuple(len(self.source.log_bytes(self.task, one, *log)) for one in self.attempts)
        holding = (one for one, length in zip(self.attempts, self._lengths[log], strict=True) if length > offset)
        return f"det:{self.task}/{next(holding, self.attempts[0])}/{thread}/{epoch}#{number}"
