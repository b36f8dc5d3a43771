"""The world outside of the job, which outlives every task: what it accepted, and the determinants left with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from replay.log.causal_log import HeldLogs
from replay.log.deltas import DeltaEntry
from replay.model import WORLD, ChannelId, TaskId, Thread, channel_id
from replay.recovery import Copy, DeterminantsReturned, Logs, RequestDeterminants
from replay.recovery.answers import Result
from replay.runtime.outside.transactions import Ledger

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine

_QUESTION_BYTES = 64


class World:
    """One for all tasks. It need not understand what it keeps: it keeps it, and gives it back."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.lineage = 0
        self.ledger = Ledger()
        self._kept = HeldLogs(WORLD)
        self._accepted: dict[TaskId, dict[int, int]] = {}
        self._newest: dict[TaskId, int] = {}

    # --- what is left with it ---

    def keep(self, entries: Iterable[DeltaEntry], channel: ChannelId) -> None:
        """Determinants that came with a write, or by themselves; from now on they are stable."""
        self._kept.apply(entries, channel)

    def accept(self, attempt: Attempt, epoch: int) -> None:
        """Counts a write that it took."""
        epochs = self._accepted.setdefault(attempt.task, {})
        epochs[epoch] = epochs.get(epoch, 0) + 1

    def accepted(self, task: TaskId, from_epoch: int) -> int:
        """How many writes of a task it took since that epoch began: a new attempt makes them once more, in vain."""
        return sum(count for epoch, count in self._accepted.get(task, {}).items() if epoch >= from_epoch)

    def held(self, of: TaskId, from_epoch: int) -> Logs:
        """What it was left of a task's logs."""
        return Logs.of(
            Copy(WORLD, log, epoch, data)
            for log, held in sorted(self._kept.of_task(of).items())
            for epoch, data in held.since(from_epoch)
            if data
        )

    # --- fencing ---

    def meets(self, attempt: Attempt) -> None:
        """From now on it takes nothing of an older attempt of that task."""
        self.fence(attempt.task, attempt.number)

    def fence(self, task: TaskId, number: int) -> None:
        """From now on it takes nothing of attempts of that task before that number."""
        self._newest[task] = max(number, self._newest.get(task, 0))

    def refuses(self, attempt: Attempt) -> bool:
        """Whether a newer attempt was there since: this one is a zombie."""
        return attempt.number < self._newest.get(attempt.task, 0)

    # --- forgetting ---

    def truncate(self, before_epoch: int) -> None:
        """A checkpoint completed: nobody will ask for what was before it."""
        self._kept.truncate(before_epoch)
        for epochs in self._accepted.values():
            for epoch in [one for one in epochs if one < before_epoch]:
                del epochs[epoch]

    def cut(self, task: TaskId, extents: Mapping[tuple[Thread, int], int], from_epoch: int) -> None:
        """What goes further in a task's logs since that epoch binds nobody: its next attempt logs otherwise."""
        for log, held in self._kept.of_task(task).items():
            for epoch in held.epochs:
                if epoch >= from_epoch:
                    held.cut(epoch, extents.get((log.thread, epoch), 0))

    def rolled_back(self) -> None:
        """All tasks begin a new lineage: what is kept of the old one binds nobody any more."""
        self.lineage += 1
        first_epoch = self._kept.first_epoch
        self._kept = HeldLogs(WORLD)
        self._kept.truncate(first_epoch)
        self._accepted.clear()

    # --- being asked ---

    def ask(self, attempt: Attempt, question: RequestDeterminants, re: int) -> None:
        """A question on its way there, and the answer on its way back."""
        engine = self.engine
        fields = {"of": question.of, "channel": question.channel}

        def arrive() -> None:
            self.meets(attempt)
            attempt.bound = True
            n = self._event("determinants-request-received", re, **fields, epoch=question.epoch)
            logs = self.held(question.of, question.epoch)
            result = self._result(attempt, question.of)
            extents = [list(extent) for extent in logs.extents()]
            told = {**fields, "to": attempt.task, "result": result, "logs": extents}
            n = self._event("determinants-returned", n, **told)

            def answer() -> None:
                if attempt.alive:
                    m = attempt.event("determinants-received", re=n, **told)
                    attempt.handle(DeterminantsReturned(question.channel, question.of, result, logs), re=m)

            size = _QUESTION_BYTES + sum(len(copy.data) for copy in logs)
            engine.scheduler.after(engine.costs.wire_us(size), answer)

        engine.scheduler.after(engine.costs.wire_us(_QUESTION_BYTES), arrive)

    def _event(self, kind: str, re: int, **fields: object) -> int:
        return self.engine.event(kind, re=re, at=WORLD, attempt=self.lineage, **fields)

    def _result(self, attempt: Attempt, of: TaskId) -> Result:
        """It never fails: beyond the sharing depth it may depend on what it was not given."""
        if self.engine.in_storage:
            return "held"
        depth = self.engine.sharing_depth
        hops = 1 + (self.engine.graph.longest_distance(of, attempt.task) or 0)
        return "held" if depth is None or hops <= depth else "beyond-depth"


def world_channel(task: TaskId) -> ChannelId:
    """The pseudo-channel between a task and the world."""
    return channel_id(task, WORLD)
