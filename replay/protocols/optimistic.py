"""Optimistic logging: logs reach the stable storage later; whoever follows from what was lost is rolled back."""

from __future__ import annotations

from replay.errors import InvariantError
from replay.model import MAIN, TaskId, thread_of_output
from replay.protocols.dependencies import ENTRY_BYTES, Ends, Vector, merge
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.body.output import Cut
from replay.runtime.engine import Engine
from replay.runtime.failing.failures import Failure
from replay.runtime.failing.rollback import roll_back
from replay.runtime.protocol import FaultTolerance

_Buffers = dict[int, tuple[int, Vector]]  # by number: epoch, and what the buffer follows from


class Optimistic(FaultTolerance):
    """No orphan outlives a failure: where there is one, every task begins again; where there is none, nobody does."""

    name = "optimistic"
    in_flight = True
    shares = False
    waits = False
    tracks = True
    standbys = True

    def __init__(self) -> None:
        self._vectors: dict[tuple[TaskId, int], Vector] = {}
        self._stored: dict[TaskId, Vector] = {}
        self._carried: dict[tuple[TaskId, int, int], _Buffers] = {}
        self._ends = Ends()

    # --- logging ---

    def executing(self, attempt: Attempt) -> None:
        """It follows from nothing that is newer than its checkpoint; from now on its log is written now and then."""
        self._vectors[attempt.task, attempt.number] = {}
        self._write_later(attempt)

    def _write_later(self, attempt: Attempt) -> None:
        def write() -> None:
            if attempt.alive and attempt.stable is not None:
                attempt.stable.write()
                self._write_later(attempt)

        attempt.engine.scheduler.after(attempt.engine.costs.log_interval_us, write)

    def writing(self, attempt: Attempt) -> Vector:
        """What the log that is written now follows from is written with it."""
        return dict(self._vectors[attempt.task, attempt.number])

    def written(self, attempt: Attempt, note: Vector | None) -> None:
        """The log is stable, and what it follows from is known as long."""
        merge(self._stored.setdefault(attempt.task, {}), note or {})

    # --- depending ---

    def cut(self, attempt: Attempt, k: int, cut: Cut) -> None:
        """A buffer follows from all that its task took and chose, and from its own size."""
        vector = dict(self._vectors[attempt.task, attempt.number])
        for thread in (MAIN, thread_of_output(k)):
            log = attempt.causal.own[thread]
            for epoch in log.epochs:
                vector[attempt.task, thread, epoch] = (attempt.number, log.length_of(epoch))
        self._carried.setdefault((attempt.task, attempt.number, k), {})[cut.seq] = (cut.epoch, vector)

    def carried_bytes(self, attempt: Attempt, k: int, cut: Cut) -> int:
        """What a buffer follows from goes with it."""
        return ENTRY_BYTES * len(self._vector_of(attempt.task, attempt.number, k, cut.seq))

    def _vector_of(self, task: TaskId, attempt: int, k: int, seq: int) -> Vector:
        return self._carried.get((task, attempt, k), {}).get(seq, (0, {}))[1]

    def taken(self, attempt: Attempt, sender: Attempt, k: int, seq: int) -> None:
        """From now on the task follows from what the buffer follows from."""
        merge(self._vectors[attempt.task, attempt.number], self._vector_of(sender.task, sender.number, k, seq))

    def accepts(self, attempt: Attempt, sender: Attempt, k: int, seq: int) -> bool:
        """A buffer that was under way is of no use any more where it follows from what was lost since."""
        vector = self._vector_of(sender.task, sender.number, k, seq)
        return not self._ends.lost(vector, attempt.engine.checkpoints.completed)

    def completed(self, attempt: Attempt, checkpoint: int) -> None:
        """What is older than a completed checkpoint nobody has to return."""
        for vector in (self._vectors[attempt.task, attempt.number], self._stored.get(attempt.task, {})):
            for place in [one for one in vector if one[2] < checkpoint]:
                del vector[place]
        for (task, _, _), buffers in self._carried.items():
            if task == attempt.task:
                for seq in [one for one, (epoch, _) in buffers.items() if epoch < checkpoint]:
                    del buffers[seq]

    def ended(self, attempt: Attempt) -> None:
        """It follows from nothing any more."""
        self._vectors.pop((attempt.task, attempt.number), None)

    # --- failing ---

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """Everybody is told how far the failed task's log goes, and says whether he follows from more."""
        engine.call(lambda: engine.call(lambda: self._decide(engine, failure, re)))

    def _decide(self, engine: Engine, failure: Failure, re: int) -> None:
        failed = failure.attempt
        if engine.current[failed.task] is not failed:
            return  # a rollback came first
        engine.world.fence(failed.task, failed.number + 1)  # it may only be suspected, and still be writing
        held = engine.world.held(failed.task, engine.checkpoints.completed)
        self._ends.add(failed.task, failed.number, {(one.log.thread, one.epoch): len(one.data) for one in held})
        orphans = [
            task.id for task in engine.graph.tasks if task.id != failed.task and self._is_orphan(engine, task.id)
        ]
        if orphans:
            why = f"{', '.join(orphans)} followed from choices of {failed.task} that were not stable yet"
            self._stored.clear()
            self._ends = Ends()
            roll_back(engine, failure.number, why, re)
            return
        for attempt in engine.current.values():
            if attempt.alive:
                attempt.forget_arrivals(self.accepts)
        engine.failures.replace(failure, re)
        engine.failures.hosts.serve()  # its slot was given away while this was being found out

    def _is_orphan(self, engine: Engine, task: TaskId) -> bool:
        """Whether its state, or the stable log that its next attempt is going to follow, follows from what was lost."""
        vector = dict(self._stored.get(task, {}))
        attempt = engine.current[task]
        if attempt.executing:
            merge(vector, self._vectors[task, attempt.number])
        return bool(self._ends.lost(vector, engine.checkpoints.completed))

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """The storage never fails and lies behind no sharing depth."""
        raise InvariantError(f"{attempt.task} escalated under optimistic logging: {why}")
