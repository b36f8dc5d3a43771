"""Optimistic logging: logs reach the stable storage later; whoever follows from what was lost is rolled back."""

from __future__ import annotations

from replay.causality.life import ORPHAN
from replay.errors import InvariantError
from replay.model import MAIN, TaskId, thread_of_output
from replay.protocols.dependencies import ENTRY_BYTES, Ends, Extents, Followed, Taking, Vector
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.body.output import Cut
from replay.runtime.engine import Engine
from replay.runtime.failing.failures import Failure
from replay.runtime.protocol import FaultTolerance

_Execution = tuple[TaskId, int]
_Buffers = dict[int, tuple[int, Vector]]  # by number: epoch, and what the buffer follows from


class Optimistic(FaultTolerance):
    """No orphan outlives a failure: each goes back to the last of its states that is none, and nobody else does."""

    name = "optimistic"
    in_flight = True
    shares = False
    waits = False
    tracks = True
    standbys = True

    def __init__(self) -> None:
        self._taken: dict[_Execution, list[Taking]] = {}
        self._unwritten: dict[_Execution, list[Taking]] = {}
        self._stored: dict[TaskId, dict[tuple[int, int], Taking]] = {}
        self._followed: dict[tuple[TaskId, int, int], Followed] = {}
        self._carried: dict[tuple[TaskId, int, int], _Buffers] = {}
        self._ends = Ends()

    # --- logging ---

    def executing(self, attempt: Attempt) -> None:
        """It follows from nothing that is newer than its checkpoint; from now on its log is written now and then."""
        self._taken[attempt.task, attempt.number] = []
        self._unwritten[attempt.task, attempt.number] = []
        self._write_later(attempt)

    def _write_later(self, attempt: Attempt) -> None:
        def write() -> None:
            if attempt.alive and attempt.stable is not None:
                attempt.stable.write()
                self._write_later(attempt)

        attempt.engine.scheduler.after(attempt.engine.costs.log_interval_us, write)

    def writing(self, attempt: Attempt) -> list[Taking]:
        """What the log that is written now follows from, and from where on, is written with it."""
        execution = attempt.task, attempt.number
        takings, self._unwritten[execution] = self._unwritten[execution], []
        return takings

    def written(self, attempt: Attempt, note: list[Taking]) -> None:
        """The log is stable, and what it follows from is known as long."""
        self._store(attempt.task, note)

    def _store(self, task: TaskId, takings: list[Taking]) -> None:
        self._stored.setdefault(task, {}).update((one.buffer, one) for one in takings)

    # --- depending ---

    def taking(self, attempt: Attempt, i: int, sender: Attempt, seq: int) -> None:
        """From now on the task follows from what the buffer follows from, unless its log made it take that again."""
        execution, epoch = (attempt.task, attempt.number), attempt.body.epoch
        again = self._stored.get(attempt.task, {}).get((i, seq))
        if again is not None:
            self._taken[execution].append(again)
            return
        k = attempt.engine.graph.channel(attempt.shape.inputs[i]).k
        # What is still to be rebuilt was there before.
        lengths = {
            thread: max(log.length_of(epoch), attempt.stable.stored(thread, epoch) if attempt.stable else 0)
            for thread, log in attempt.causal.own.items()
        }
        taking = Taking((i, seq), epoch, lengths, self._vector_of(sender.task, sender.number, k, seq))
        self._taken[execution].append(taking)
        self._unwritten[execution].append(taking)

    def cut(self, attempt: Attempt, k: int, cut: Cut) -> None:
        """A buffer follows from all that its task took and chose before, to the end of its epoch, and from its size.

        What is rebuilt follows from what it did when it was first cut, however far its task is by now.
        """
        thread, output = thread_of_output(k), (attempt.task, attempt.number, k)
        length = attempt.causal.own[thread].length_of(cut.epoch)
        followed = self._followed.setdefault(output, Followed())
        following = followed.advance(self._taken[attempt.task, attempt.number], thread, cut.epoch, length)
        vector = dict(followed.vector)
        for one in (MAIN, thread):
            log = attempt.causal.own[one]
            for epoch in log.epochs:
                if epoch <= cut.epoch:
                    upto = log.length_of(epoch)
                    if following is not None:
                        upto = min(upto, following.allows(one, epoch))
                    vector[attempt.task, one, epoch] = (attempt.number, upto)
        self._carried.setdefault(output, {})[cut.seq] = (cut.epoch, vector)

    def carried_bytes(self, attempt: Attempt, k: int, cut: Cut) -> int:
        """What a buffer follows from goes with it."""
        return ENTRY_BYTES * len(self._vector_of(attempt.task, attempt.number, k, cut.seq))

    def _vector_of(self, task: TaskId, attempt: int, k: int, seq: int) -> Vector:
        return self._carried.get((task, attempt, k), {}).get(seq, (0, {}))[1]

    def accepts(self, attempt: Attempt, sender: Attempt, k: int, seq: int) -> bool:
        """A buffer that was under way is of no use any more where it follows from what was lost since."""
        vector = self._vector_of(sender.task, sender.number, k, seq)
        return not self._ends.lost(vector, attempt.engine.checkpoints.completed)

    def completed(self, attempt: Attempt, checkpoint: int) -> None:
        """What is older than a completed checkpoint nobody has to return."""
        taken = self._taken[attempt.task, attempt.number]
        gone = sum(one.epoch < checkpoint for one in taken)
        del taken[:gone]
        unwritten = self._unwritten[attempt.task, attempt.number]
        unwritten[:] = [one for one in unwritten if one.epoch >= checkpoint]
        for k in range(len(attempt.outputs)):
            output = attempt.task, attempt.number, k
            self._followed.setdefault(output, Followed()).forget(gone, checkpoint)
            buffers = self._carried.get(output, {})
            for seq in [one for one, (epoch, _) in buffers.items() if epoch < checkpoint]:
                del buffers[seq]
        stored = self._stored.get(attempt.task, {})
        self._stored[attempt.task] = {buffer: one for buffer, one in stored.items() if one.epoch >= checkpoint}

    def ended(self, attempt: Attempt) -> None:
        """It follows from nothing any more; what its stable log follows from was written with that."""
        self._taken.pop((attempt.task, attempt.number), None)
        self._unwritten.pop((attempt.task, attempt.number), None)

    # --- failing ---

    def failed(self, engine: Engine, failure: Failure, re: int) -> None:
        """Everybody is told how far the failed task's log goes, and says whether he follows from more."""
        engine.call(lambda: engine.call(lambda: self._decide(engine, failure, re)))

    def _decide(self, engine: Engine, failure: Failure, re: int) -> None:
        failed = failure.attempt
        engine.world.fence(failed.task, failed.number + 1)  # it may only be suspected, and still be writing
        self._over(failed.task, failed.number, self._held(engine, failed.task))
        cause = f"{ORPHAN}: it followed from choices of {failed.task} that were not stable"
        for task in engine.graph.order:
            attempt = engine.current[task]
            orphaned = self._orphaned(engine, attempt)
            if orphaned is None:
                continue
            written_bytes = self._go_back(engine, attempt, orphaned)
            if attempt.counts and attempt.bound:
                write_us = engine.costs.storage_us(written_bytes) if written_bytes else 0
                engine.failures.begin_again(attempt, cause, re, after_us=write_us)
        for attempt in engine.current.values():
            if attempt.alive:
                attempt.forget_arrivals(self.accepts)
        engine.failures.replace(failure, re)
        engine.failures.hosts.serve()  # its slot was given away meanwhile: a standby makes room for it

    def _orphaned(self, engine: Engine, attempt: Attempt) -> Extents | None:
        """How far a task's logs go that follow from nothing lost, where its state or its stable log goes further.

        One that runs still has what it has not written; of one that failed, or recovers, only the storage knows.
        """
        completed = engine.checkpoints.completed
        taken = self._taken[attempt.task, attempt.number] if attempt.counts and attempt.executing else []
        lost = [one for one in taken if self._ends.lost(one.vector, completed)]
        is_orphan = bool(lost)
        lost += [one for one in self._stored.get(attempt.task, {}).values() if self._ends.lost(one.vector, completed)]
        if not lost:
            return None
        held = self._held(engine, attempt.task)
        extents = dict(held)
        if attempt.counts and attempt.executing:
            for thread, log in attempt.causal.own.items():
                for epoch in log.epochs:
                    if epoch >= completed:
                        extents[thread, epoch] = max(log.length_of(epoch), held.get((thread, epoch), 0))
        kept = {place: min(upto, *(one.allows(*place) for one in lost)) for place, upto in extents.items()}
        is_cut = any(upto > kept.get(place, 0) for place, upto in held.items())
        return kept if is_orphan or is_cut else None

    def _go_back(self, engine: Engine, attempt: Attempt, kept: Extents) -> int:
        """Its stable log ends where it becomes an orphan's; one that runs writes what it had logged until there."""
        written_bytes, last = 0, attempt.number
        if attempt.counts and attempt.executing and attempt.stable is not None:
            self._store(attempt.task, self._taken[attempt.task, attempt.number])
            written_bytes = attempt.stable.write_at_last(kept)
        elif attempt.counts and not attempt.bound:
            last -= 1  # it has not been told of the log that is cut: it goes on, and follows what is left
        else:
            engine.world.fence(attempt.task, attempt.number + 1)
        engine.world.cut(attempt.task, kept, engine.checkpoints.completed)
        self._over(attempt.task, last, kept)
        return written_bytes

    def _over(self, task: TaskId, attempt: int, kept: Extents) -> None:
        """The next attempt's logs go on from there."""
        self._ends.add(task, attempt, kept)
        stored = self._stored.get(task, {})
        self._stored[task] = {buffer: one for buffer, one in stored.items() if one.binds(kept)}

    def _held(self, engine: Engine, task: TaskId) -> Extents:
        held = engine.world.held(task, engine.checkpoints.completed)
        return {(one.log.thread, one.epoch): len(one.data) for one in held}

    def escalated(self, engine: Engine, attempt: Attempt, failure: int, why: str, re: int) -> None:
        """The storage never fails and lies behind no sharing depth."""
        raise InvariantError(f"{attempt.task} escalated under optimistic logging: {why}")
