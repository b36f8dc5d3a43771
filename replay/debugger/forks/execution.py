"""An execution that follows a log as far as it applies, and goes on freely from there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.partings import check_machine
from replay.debugger.forks.changes import OtherOperator, OtherOrder, OtherValue
from replay.debugger.forks.edits import with_value
from replay.debugger.forks.stages import Losing, Stage
from replay.debugger.forks.world import ForkWorld
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Logs, Reappended
from replay.debugger.sides.tracing import Tracing
from replay.errors import InvariantError, WrongSetting
from replay.log.codec import encode
from replay.log.determinants import Determinant, IgnoreCheckpoint, SourceCheckpoint, TimerTrigger
from replay.model import MAIN, TaskId, Thread
from replay.runtime.body.output import OutputWriter
from replay.runtime.operators import Operator
from replay.services import Divergence


class Appended(Reappended):
    """What a fork appends: counted, and held against nothing."""

    __slots__ = ()

    def append(self, thread: Thread, determinant: Determinant, epoch: int) -> None:
        """Takes one determinant."""
        self.lengths[thread, epoch] = self.lengths.get((thread, epoch), 0) + len(encode(determinant))

    def check_complete(self, upto: Logs | None = None) -> None:
        """What is left over of the log is no fault of a fork."""


class ParentExecution(Execution):
    """What is forked, once more, with everything noted."""

    def __init__(self, source: RecordingSource, plan: Plan, operator: Operator, watcher: Tracing):
        self._tracing = watcher
        super().__init__(source, plan, operator, watcher)

    def start(self) -> None:
        """As `Execution`."""
        self._tracing.attach(self)
        super().start()


class ForkExecution(Execution):
    """`free`: from where the log was left, or used up though not all of it is there, the task chooses for itself."""

    def __init__(
        self,
        source: RecordingSource,
        plan: Plan,
        operator: Operator,
        watcher: Tracing,
        world: ForkWorld,
        *,
        stages: Sequence[Stage],
        is_due: Callable[[int], bool],
        other: Callable[[str], Operator],
        runs_out: bool = False,
    ):
        """Before the first of `stages` all is as in the parent; `is_due` tells by their steps when that is over.

        `other` makes the operator of a name.

        `runs_out`: the log ends before its time, and the task goes on freely.
        """
        self.world = world
        self.free = False
        self._tracing = watcher
        self._is_due = is_due
        self._other = other
        self._at = min((stage.at for stage in stages), default=0)
        self._awaited = deque(stage for stage in stages if _is_of_execution(stage))
        self._losing: list[Losing] = []
        self._instead: Stage | None = None
        self._runs_out = runs_out
        self._loose: set[int] = set()
        self._ended = False
        super().__init__(source, plan, operator, watcher)
        self.log: Reappended = Appended(TaskId(plan.task), plan.logs, plan.where_at, _follows)
        self.body.choices.beside = self
        named = (one.buffer_bytes for pending in self.pending for one in pending)
        self._largest = max(named, default=_LARGEST_BUFFER)
        self._origin_ms = source.manifest.clock.origin_ms

    # --- beside the choices of the body ---

    def left(self, found: Divergence) -> None:
        """The log does not apply: from here on the execution is a new one."""
        self.world.left(found, self.body.choices.cursor, self.plan.logs)
        self.body.choices.cursor = None
        self._go_free()

    def look(self) -> None:
        """Is this where the log is lost?"""
        self._enter_stages()
        for losing in list(self._losing):
            cursor = self.body.choices.cursor
            if losing.main is not None and cursor is not None:
                epoch, offset = losing.main
                if self.body.epoch > epoch or (self.body.epoch == epoch and cursor.offset(epoch) >= offset):
                    self.world.lose(cursor, self.plan.logs)
                    self.body.choices.cursor = None
            if losing.main is not None and self.body.choices.cursor is None:
                self._losing.remove(losing)
                self._go_free()

    def _enter_stages(self) -> None:
        """What is otherwise from here on, but for another operator, which waits for the next record."""
        while self._awaited and self._is_due(self._awaited[0].at):
            stage = self._awaited[0]
            if isinstance(stage.change, OtherOperator):
                return
            self._awaited.popleft()
            if stage.losing is not None:
                self.world.draws(stage.change.seed)  # type: ignore[union-attr]
                self._losing.append(stage.losing)
                self._lose_buffers(stage.losing)
            elif stage.place.own:
                self._instead = stage

    def _lose_buffers(self, losing: Losing) -> None:
        for k, pending in enumerate(self.pending):
            named = max(0, losing.named[k] - self.cuts[k])
            if named < len(pending):
                self._loose.add(k)
                self.pending[k] = deque(islice(pending, named))

    def gives(self, kind: Any, unlike: Any) -> Any:
        """What the world has for a choice that no log answers."""
        return self.world.gives(kind, unlike)

    def chosen(self, determinant: Any, epoch: int) -> Any:
        """What the task chooses for itself: something else, where the fork says so."""
        self._enter_stages()
        stage = self._instead
        if stage is None or not isinstance(stage.change, OtherValue):
            return determinant
        self._instead = None
        if (epoch, self.log.length(MAIN, epoch)) != (stage.place.epoch, stage.place.offset):
            raise InvariantError("a fork comes to the choice that it changes")
        changed, stage.words = with_value(determinant, stage.change.value)
        return changed

    def followed(self, determinant: Determinant) -> None:
        """The log was followed."""
        self.world.took(determinant)

    def now_ms(self) -> int:
        """As `Wall`."""
        return self.world.now_ms()

    def random_int32(self) -> int:
        """As `Wall`."""
        return self.world.random_int32()

    def external(self, call: str, request: Any, effect: str) -> Any:
        """As `Wall`."""
        return self.world.external(call, request, effect)

    @property
    def _departed(self) -> bool:
        return self._is_due(self._at)

    def _go_free(self) -> None:
        if self._departed:
            self.free = self._tracing.stepping.free = True

    # --- running ---

    def start(self) -> None:
        """As `Execution`, with everything noted."""
        self._tracing.attach(self)
        self._replace_operator()
        super().start()

    def step(self) -> bool:
        """Does the next thing; False where nothing is left to do."""
        if not self.body.pending_elements:
            self._replace_operator()
        self.look()
        if self._runs_out and not self.body.replaying:
            self._go_free()
        if self.free and not self.stopped and not self._ended:
            self._fire_free()
        if super().step():
            return True
        return self._give_the_rest()

    @property
    def done(self) -> bool:
        """A free execution goes on as long as there is anything to take."""
        return not self.free and super().done

    def _replace_operator(self) -> None:
        self._enter_stages()
        while self._awaited and isinstance(change := self._awaited[0].change, OtherOperator):
            if not self._is_due(self._awaited[0].at):
                return
            self._awaited.popleft()
            self._go_on_with(self._other(change.operator))
            self._enter_stages()

    def _go_on_with(self, other: Operator) -> None:
        before = self.body.operator
        try:
            other.open(self.body)
            other.restore(before.snapshot())
        except (Exception, SystemExit) as fault:
            check_machine(fault)
            raise DivergenceFound(
                f"{type(other).__name__} can't take over the state of {type(before).__name__}: "
                f"{type(fault).__name__}: {fault}.",
                why=f"{type(fault).__name__}: {fault}",
            ) from fault
        self.body.operator = other
        self._tracing.replaced(other)

    def _guarded(self, action: Any) -> Any:
        """What the log does not hold ends the following of it, and not the execution."""
        try:
            return super()._guarded(lambda: self._loosely(action))
        except _Left:
            return None
        except InvariantError as fault:
            raise DivergenceFound(f"What the fork does breaks a rule: {fault}.", why=str(fault)) from fault

    def _loosely(self, action: Any) -> Any:
        try:
            return action()
        except Divergence as found:
            self.left(found)
            raise _Left from None

    def _process(self) -> None:
        try:
            self.body.process(1)
        except Divergence as found:
            self.left(found)
        self.watcher.records_done()

    # --- inputs ---

    def _take(self) -> bool:
        self._offer(held=self._ahead_of_their_time())
        i = self._next_input()
        if i is None:
            self._offer()
            i = self._next_input()
        if i is None and self.body.replaying and any(one.head() is not None for one in self.inputs):
            self._leave_stuck()
            i = self._next_input()
        if i is None:
            return False
        self._take_from(i)
        return True

    def _next_input(self) -> int | None:
        found: int | None = self._guarded(lambda: self.body.next_input(self._pick))
        return found

    def _pick(self, ready: Sequence[int]) -> int:
        i, stage = self.world.pick(ready, self._as_recorded), self._next_instead()
        if stage is None:
            return i
        self._instead = None
        other = next((one for one in ready if one > i), ready[0])
        stage.words = f"the next buffer comes from channel {other} and not {i}, which no log says"
        return other

    def _next_instead(self) -> Stage | None:
        """The change of the order in which buffers are taken, if one waits."""
        self._enter_stages()
        return self._instead if self._instead is not None and isinstance(self._instead.change, OtherOrder) else None

    def _leave_stuck(self) -> None:
        cursor, epoch = self.body.choices.cursor, self.body.epoch
        logged = None if cursor is None else cursor.peek(epoch)
        offset = 0 if cursor is None else cursor.offset(epoch)
        self.left(
            Divergence(
                asked="a buffer of another input, as that one has none",
                logged=repr(logged) if logged is not None else "nothing more of this epoch",
                thread=MAIN,
                epoch=epoch,
                offset=offset,
            )
        )

    def _take_from(self, i: int) -> None:
        if self._next_instead() is not None:
            raise WrongSetting(
                "no other input has a buffer there that could come first", remedy="Fork at another delivery"
            )
        head: Taken | None = self.inputs[i].head()
        if head is not None:
            self.world.clock_ms = max(self.world.clock_ms, self._origin_ms + head.receipt.taken_us // 1000)
        super()._take_from(i)

    def _check_nothing_left(self, what: str) -> bool:
        """A fork ends where there is nothing more to take."""
        return False

    # --- what comes between two elements, where no log says it ---

    def _fire_free(self) -> None:
        """Checkpoints come where they were logged, timers when the clock has passed them; neither before what others
        have is rebuilt: that nothing came in between was a choice too."""
        if self.world.left_at is None and any(self.pending):
            return
        body = self.body
        waiting = self.world.asyncs.get(body.epoch, deque())
        while waiting and waiting[0].record_count <= body.record_count:
            one = waiting.popleft()
            if isinstance(one, TimerTrigger):
                self.world.clock_ms = max(self.world.clock_ms, one.timestamp)
            elif isinstance(one, SourceCheckpoint) and one.checkpoint > body.epoch:
                self._guarded(lambda one=one: body.trigger_checkpoint(one.checkpoint, one.timestamp))
                waiting = self.world.asyncs.get(body.epoch, deque())
            elif isinstance(one, IgnoreCheckpoint):
                self._guarded(lambda one=one: body.ignore_checkpoint(one.checkpoint))
        for callback, at_ms in sorted(body.timers.awaiting()):
            if at_ms <= self.world.clock_ms:
                self._guarded(lambda callback=callback: self._fire(callback))

    def _fire(self, callback: str) -> None:
        self.body.fire_timer(callback)
        self.watcher.records_done()

    # --- outputs ---

    def _cut_what_is_there(self, *, in_time: bool) -> bool:
        outputs = range(len(self.pending))
        in_time = in_time and not self._departed
        for k in self.cut_times.turns(self.pending, self.body.writers) if in_time else outputs:
            if size := self._next_size(k):
                pending = self.pending[k]
                named = pending[0] if pending and pending[0].buffer_bytes == size else None
                if named is not None:
                    pending.popleft()
                self.cuts[k] += 1
                self.cut_times.forget()
                self.watcher.cut(k, self.body.cut(k, size), named)
                return True
        return False

    def _next_size(self, k: int) -> int:
        """As the log names it, where that can be; else all that is closed."""
        self.look()
        writer, pending = self.body.writers[k], self.pending[k]
        while self.free and pending and writer.available_bytes and pending[0].epoch < writer.head_epoch:
            pending.popleft()
        if pending and writer.can_cut(pending[0].buffer_bytes):
            return int(pending[0].buffer_bytes)
        unnamed = not pending and (self.free or k in self._loose)
        if unnamed and not writer.head_is_event and writer.available_bytes >= self._largest:
            return self._largest
        if writer.head_is_closed and (pending or unnamed):
            if pending and not writer.head_is_event:
                pending.popleft()  # cut at another size: the next one named is the next one cut
            return self._most(writer)
        return 0

    def _most(self, writer: OutputWriter) -> int:
        """No buffer is larger than the largest that the log names."""
        return writer.available_bytes if writer.head_is_event else min(writer.available_bytes, self._largest)

    def _give_the_rest(self) -> bool:
        """A new execution keeps nothing back."""
        if self.stopped or self._ended:
            return False
        self._ended = True
        for k, writer in enumerate(self.body.writers):
            while writer.available_bytes and (self.free or k in self._loose):
                self.cuts[k] += 1
                self.watcher.cut(k, self.body.cut(k, self._most(writer)), None)
        return False


_LARGEST_BUFFER = 32_768


def _follows(found: DivergenceFound) -> None:
    """Nothing that a fork appends is held against a log."""


def _is_of_execution(stage: Stage) -> bool:
    return stage.losing is not None or stage.place.own or isinstance(stage.change, OtherOperator)


class _Left(Exception):
    """The log was left in the midst of something that is done with."""
