"""What a source is recorded to have read, and when, held against what its log says that the clock read after that."""

from __future__ import annotations

from replay.bundle.members import member_name
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution
from replay.debugger.executing.verify import Silent
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.log.determinants import Determinant, Timestamp
from replay.model import MAIN
from replay.runtime.body.task import TaskBody

_US_PER_MS = 1000


class ByItsLines(Silent):
    """Executes the first attempt of a source. Raises at a reading of the clock that is earlier than a record before it:
    only who executes it knows which records are before it. (Later ones read again, and follow an earlier log.)"""

    def __init__(self, source: RecordingSource, comparison: Comparison):
        super().__init__(comparison)
        plan = comparison.plan
        self._task, (self._attempt, *_) = plan.task, plan.take_from
        self._origin_ms = source.manifest.clock.origin_ms
        self._times = {line.get("offset"): line.get("t_us") for line in source.source(self._task, self._attempt)}
        self._body: TaskBody | None = None

    def begins(self, execution: Execution) -> None:
        """It is told of records, and of what its log answers."""
        self._body = execution.body
        execution.body.observer = self
        execution.body.choices.observer = self

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """Of its log."""
        last = self._body.source_offset - 1 if self._body is not None else -1
        read_us = self._times.get(last)
        if not isinstance(determinant, Timestamp) or not isinstance(read_us, int):
            return
        if determinant.value < self._origin_ms + read_us // _US_PER_MS:
            path = member_name(self._task, self._attempt, MAIN, epoch)
            raise DivergenceFound(
                f"{path} at offset {offset}: the clock of {self._task} read {determinant.value} ms, after record "
                f"{last} was read at {read_us} us, which is {self._origin_ms + read_us // _US_PER_MS} ms by it.",
                member=path,
                thread=MAIN,
                epoch=epoch,
                offset=offset,
                logged=determinant.value,
            )
