"""`--on-lost continue`: choices that nobody can return are given up, and the job goes on, at least once.

When a task T escalates, some survivor below it may depend on choices of T that are lost. T goes on with what was
returned to it, which is all that its direct survivors know. Whatever is below T can no longer be repeated from its log
as it was: its inputs will be others. So until a checkpoint completes that was triggered later, every task below T that
recovers, or fails from now on, recovers without determinants: it asks for none, begins at its checkpoint, and sends
all from there on; its receivers drop half a record, skip nothing, and take records again. Nothing is lost, and what is
processed twice is below T. Whoever begins so contradicts what its attempt before had logged since: for it and for what
is below it, the checkpoint must be triggered later than that. From that checkpoint on, everything is as before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from replay.log.deltas import DeltaEntry
from replay.model import TaskId

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine


class Losses:
    """Which tasks' logs bind nobody, up to which epoch."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self._void_before: dict[TaskId, int] = {}

    def diverges(self, task: TaskId, checkpoint: int) -> bool:
        """Whether an attempt that begins at that checkpoint recovers without determinants."""
        return checkpoint < self._void_before.get(task, 0)

    def shared(self, entries: list[DeltaEntry]) -> list[DeltaEntry]:
        """Without the epochs that a recovery may begin anew: copies of two lineages would contradict each other."""
        if not self._void_before:
            return entries
        return [one for one in entries if one.epoch >= self._void_before.get(one.log.task, 0)]

    def given_up(self, attempt: Attempt) -> None:
        """An attempt goes on without choices that may bind a survivor. What recovers below it begins again, before
        anything that the attempt does otherwise can reach it."""
        why = f"its inputs are not what its log tells of, as choices of {attempt.task} are lost"
        below = self._void(self.engine.graph.all_downstream(attempt.task))
        self._begin_again(below, why)

    def began_anew(self, attempt: Attempt) -> None:
        """An attempt begins without determinants: it contradicts every epoch that the one before it had come to."""
        task, engine = attempt.task, self.engine
        below = self._void({task, *engine.graph.all_downstream(task)})
        why = f"its inputs are not what its log tells of, as {task} recovers without its choices"
        engine.scheduler.at(
            engine.scheduler.now_us, lambda: self._begin_again([one for one in below if one != task], why)
        )

    def _void(self, tasks: Iterable[TaskId]) -> list[TaskId]:
        ordered = _ordered(self.engine, tasks)
        for task in ordered:
            self._void_before[task] = self.engine.checkpoints.next
        return ordered

    def _begin_again(self, tasks: Iterable[TaskId], why: str) -> None:
        for task in tasks:
            one = self.engine.current[task]
            if not one.alive or one.settled or one.diverged:
                continue
            if one.fenced:  # it has failed already, and whoever takes its place begins without determinants
                self.engine.failures.end_fenced(one)
            else:
                self.engine.failures.fail(one, why, together=None, first_of_several=False)


def _ordered(engine: Engine, tasks: Iterable[TaskId]) -> list[TaskId]:
    which = set(tasks)
    return [one for one in engine.graph.order if one in which]
