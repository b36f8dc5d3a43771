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
    _logs: dict[tuple[Thread, int], tuple[tuple[int, str], ...]] = field(default_factory=dict)

    def cause(self, thread: Thread, epoch: int, number: int, offset: int) -> str:
        """The determinant of that number and offset, as a cause: in the latest log that came so far."""
        known = self._logs.get((thread, epoch)) or self._read(thread, epoch)
        for length, name in known:
            if length > offset:
                return f"{name}#{number}"
        return f"{known[0][1]}#{number}"

    def _read(self, thread: Thread, epoch: int) -> tuple[tuple[int, str], ...]:
        """Of each attempt how long its log is, and what it is called."""
        found = self._logs[thread, epoch] = tuple(
            (len(self.source.log_bytes(self.task, one, thread, epoch)), f"det:{self.task}/{one}/{thread}/{epoch}")
            for one in self.attempts
        )
        return found
