"""The coordinator's checkpoints: triggered at the sources, complete when all snapshots are safe, else aborted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replay.errors import WrongSetting
from replay.model import TaskId
from replay.runtime.checkpoint_policy import upload_bytes

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine


_GIVEN_UP_IN_VAIN = 10

COULD_NOT_BEGIN = " could not begin it"
NOT_COMPLETE = "not complete after "
"""Why a checkpoint is aborted, where it isn't for a failure: behind the source's name, and before the time."""


@dataclass(slots=True)
class _Pending:
    checkpoint: int
    event: int
    last: bool
    since_us: int
    sizes: dict[TaskId, int] = field(default_factory=dict)


class Checkpoints:
    """At most one is pending. An aborted one is ignored by all tasks that can't align it any more."""

    def __init__(self, engine: Engine, interval_us: int):
        self.engine = engine
        self.interval_us = interval_us
        self.policy = engine.run_of.checkpoints
        self.completed = 0
        self.completed_event: int | None = None
        self.finished = False
        self._next = 1
        self._pending: _Pending | None = None
        self._not_before_us = 0
        self._ignored: dict[int, set[TaskId]] = {}
        self._states: dict[tuple[TaskId, int], bytes] = {}
        self._notices = 0
        self._idle = False
        self._given_up = 0

    def start(self) -> None:
        """The first one after an interval."""
        self.engine.scheduler.after(self.interval_us, self._tick)

    def state_bytes(self, task: str, checkpoint: int) -> int:
        """What there is to load of a snapshot: its own bytes, and those that the state is declared to have."""
        data = self.state(task, checkpoint)
        return 0 if data is None else len(data) + self.engine.costs.state_bytes

    def state(self, task: str, checkpoint: int) -> bytes | None:
        """A safe snapshot; None for the initial state."""
        return self._states[TaskId(task), checkpoint] if checkpoint else None

    @property
    def next(self) -> int:
        """The number of the checkpoint that is triggered next."""
        return self._next

    @property
    def done(self) -> bool:
        """Whether the last checkpoint has completed and everyone was told."""
        return self.finished and not self._notices

    def may_cover(self, epoch: int, upto: int) -> bool:
        """Whether an epoch is covered by a checkpoint that has completed, or by a pending one up to `upto`."""
        pending = self._pending
        return self.completed > epoch or (pending is not None and epoch < pending.checkpoint <= upto)

    # --- triggering ---

    def _tick(self) -> None:
        engine = self.engine
        if self.finished:
            return
        engine.scheduler.after(self.interval_us, self._tick)
        if self._pending is not None:
            self._expire(self._pending)
            return
        if engine.scheduler.now_us < self._not_before_us:
            return
        if not engine.protocol.may_checkpoint(engine):
            return
        if any(engine.failures.is_known(engine.current[source]) for source in engine.sources):
            return  # a source that is not there can't begin one
        exhausted = engine.all_exhausted()
        if exhausted and self._idle:
            return  # nothing happened since the last one: only kills are awaited
        self._trigger(last=exhausted)

    def _trigger(self, *, last: bool) -> None:
        engine, checkpoint = self.engine, self._next
        self._next += 1
        n = engine.event("checkpoint-triggered", checkpoint=checkpoint)
        self._pending = _Pending(checkpoint, n, last, engine.scheduler.now_us)
        timestamp_ms = engine.origin_ms + engine.scheduler.now_us // 1000
        for source in engine.sources:
            self._call(source, checkpoint, timestamp_ms)

    def _call(self, source: TaskId, checkpoint: int, timestamp_ms: int) -> None:
        def arrive() -> None:
            attempt = self.engine.current[source]
            if not attempt.counts and not self.engine.failures.is_known(attempt):
                return  # its failure, once detected, aborts the checkpoint
            if not attempt.counts or not attempt.trigger_checkpoint(checkpoint, timestamp_ms):
                self.engine.call(lambda: self._declined(source, checkpoint))

        self.engine.call(arrive)

    def _declined(self, source: TaskId, checkpoint: int) -> None:
        if self._pending is not None and self._pending.checkpoint == checkpoint:
            self.abort((source,), self._pending.event, f"{source}{COULD_NOT_BEGIN}")

    def _expire(self, pending: _Pending) -> None:
        """Looked at whenever the next one is due: whoever did not align this one need not any more."""
        if self.engine.scheduler.now_us - pending.since_us >= self.policy.timeout_us:
            why = f"{NOT_COMPLETE}{self.policy.timeout_us / 1000:g} ms"
            self._given_up += pending.last
            if self._given_up == _GIVEN_UP_IN_VAIN:
                raise WrongSetting(
                    f"{_GIVEN_UP_IN_VAIN} checkpoints after the last record were {why}, so the job can't end",
                    remedy="Let checkpoints time out later, begin them less often, or give tasks less state",
                )
            self.abort(self.engine.sources, pending.event, why)

    def _not_before(self, us: float) -> None:
        self._not_before_us = max(self._not_before_us, int(self.engine.scheduler.now_us + us))

    def _back_off(self) -> None:
        self._not_before(self.policy.back_off_intervals * self.interval_us)

    # --- completing ---

    def _size_of(self, attempt: Attempt, data: bytes) -> int:
        """What there is to upload of a snapshot."""
        declared_bytes = self.engine.costs.state_bytes
        if not self.policy.incremental:
            return len(data) + declared_bytes
        before = self.engine.state_of(attempt.task, self.completed)
        return upload_bytes(before, json.loads(data), len(data), declared_bytes)

    def upload(self, attempt: Attempt, checkpoint: int, data: bytes) -> None:
        """A task's snapshot is complete; safe once it is uploaded, unless the task fails first."""
        size = self._size_of(attempt, data)

        def uploaded() -> None:
            if not attempt.alive:
                return
            attempt.recorder.state(checkpoint, data)
            fields = {"task": attempt.task, "checkpoint": checkpoint, "bytes": size}
            n = attempt.event("checkpoint-acknowledged", re=self._event_of(checkpoint), **fields)
            self.engine.call(lambda: self._acknowledged(attempt, checkpoint, data, size, n))

        self.engine.moment("upload-began", task=attempt.task)
        self.engine.scheduler.after(self.engine.costs.upload_us(size), uploaded)

    def _event_of(self, checkpoint: int) -> int | None:
        pending = self._pending
        return pending.event if pending is not None and pending.checkpoint == checkpoint else None

    def _acknowledged(self, attempt: Attempt, checkpoint: int, data: bytes, size: int, event: int) -> None:
        pending = self._pending
        if pending is None or pending.checkpoint != checkpoint:
            return
        if attempt.fenced or self.engine.current[attempt.task] is not attempt:
            return  # whoever took its place acknowledges for itself
        self._states[attempt.task, checkpoint] = data
        pending.sizes[attempt.task] = size
        if len(pending.sizes) == len(self.engine.graph.tasks):
            self._complete(pending, event)

    def _complete(self, pending: _Pending, event: int) -> None:
        engine, checkpoint = self.engine, pending.checkpoint
        self._pending = None
        n = engine.event("checkpoint-completed", re=event, checkpoint=checkpoint)
        self.completed, self.completed_event = checkpoint, n
        engine.deliveries.completed(checkpoint)
        self._states = {key: data for key, data in self._states.items() if key[1] >= checkpoint}
        self._ignored = {one: tasks for one, tasks in self._ignored.items() if one > checkpoint}
        self._not_before(self.policy.min_pause_us)
        self._idle = pending.last and engine.failures.quiet
        self._given_up = 0
        self.finished = self._idle and not engine.failures.kills_left
        for attempt in list(engine.current.values()):
            self._notify(attempt, checkpoint, pending.sizes[attempt.task], n)
        engine.failures.standbys.completed(checkpoint, n)

    def _notify(self, attempt: Attempt, checkpoint: int, size: int, re: int) -> None:
        self._notices += 1

        def arrive() -> None:
            self._notices -= 1
            if attempt.alive and attempt.executing:
                fields = {"task": attempt.task, "checkpoint": checkpoint, "bytes": size}
                n = attempt.event("checkpoint-notified", re=re, **fields)
                attempt.checkpoint_completed(checkpoint, n)

        self.engine.call(arrive)

    # --- aborting ---

    def disturbed(self) -> None:
        """Something failed: what was covered by the last checkpoint may have to be covered again."""
        self._idle = False

    def failed(self, task: TaskId, re: int) -> None:
        """A failure was detected: what is pending can't complete, and the next one waits."""
        self._back_off()
        for checkpoint in sorted(self._ignored):  # whose barriers may still be under way
            self._ignore_below(task, checkpoint, re)
        if self._pending is not None:
            self.abort((task,), re, f"{task} failed")

    def abort(self, because_of: Iterable[TaskId], re: int, why: str) -> None:
        """Every task below these can't align it: it is told to let it go."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        n = self.engine.event("checkpoint-aborted", re=re, checkpoint=pending.checkpoint, why=why)
        self._not_before(self.policy.min_pause_us)
        self._ignored[pending.checkpoint] = set()
        for task in because_of:
            self._ignore_below(task, pending.checkpoint, n)

    def _ignore_below(self, failed: TaskId, checkpoint: int, re: int) -> None:
        """What is downstream of a failed task can't wait for the barrier that it will bring late, or never."""
        told = self._ignored[checkpoint]
        below = self.engine.graph.all_downstream(failed) - told
        if not self.engine.in_flight:  # nobody sends it the barriers again that came while it was away
            below |= {failed}
        told |= below
        for task in sorted(below):
            self._tell_to_ignore(task, checkpoint, re)

    def _tell_to_ignore(self, task: TaskId, checkpoint: int, re: int | None) -> None:
        attempt = self.engine.current[task]
        self.engine.call(lambda: attempt.ignore_checkpoint(checkpoint, re))

    def settled(self, attempt: Attempt, re: int | None) -> None:
        """A task has recovered: what it must ignore it is told (again) now."""

        def arrive() -> None:
            for checkpoint, tasks in sorted(self._ignored.items()):
                if attempt.alive and checkpoint > attempt.checkpoint and attempt.task in tasks:
                    self._tell_to_ignore(attempt.task, checkpoint, re)

        self.engine.call(arrive)

    def rolled_back(self, re: int) -> None:
        """Every task begins again from the completed checkpoint: nothing is pending, nothing is to be ignored."""
        if self._pending is not None:
            why = "every task is rolled back"
            self.engine.event("checkpoint-aborted", re=re, checkpoint=self._pending.checkpoint, why=why)
        self._pending = None
        self._ignored.clear()
        self._back_off()
        self._idle = False
