"""One run of a replay that is to be forked: the parent once more, with everything noted, or the fork itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.following import Until
from replay.debugger.forks.edits import with_operator
from replay.debugger.forks.execution import ForkExecution, ParentExecution
from replay.debugger.forks.lenient import ForkComparison
from replay.debugger.forks.stages import Stage, seed_of_answers
from replay.debugger.forks.world import ForkWorld
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource, StepForm, StepSink
from replay.debugger.recorded.logs import Logs
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Story
from replay.debugger.sides.ledger import Ledger
from replay.debugger.sides.trace import Noting
from replay.debugger.sides.tracing import Tracing, TracingSink
from replay.debugger.writing.sentences import Values
from replay.debugger.writing.stepping import Stepping
from replay.debugger.writing.steps import Progress, StepWriter
from replay.errors import InvariantError, WrongSetting
from replay.jobs.registry import UnknownOperator, new_operator
from replay.model import MAIN, Graph
from replay.runtime.operators import Operator


@dataclass(frozen=True, slots=True)
class Of:
    """Which replay of a recording is forked: what `replay` is asked for."""

    task: str | None = None
    failure: int | None = None
    attempt: int | None = None
    until: Until = "snapshot"


@dataclass(slots=True)
class Making:
    """Without `stages` it is the replay itself, which is nobody's fork. `again`: the same task's next attempt."""

    source: RecordingSource
    story: Story
    scene: Scene
    noting: Noting
    stages: tuple[Stage, ...] = ()
    tracing: Tracing | None = None
    execution: ForkExecution | None = None
    comparison: ForkComparison | None = None
    world: ForkWorld | None = None
    cut_logs: bool = False
    again: Making | None = None
    is_again: bool = False

    def graph_at(self, depth: int | None) -> Graph:
        """The job's, at another sharing depth."""
        manifest = self.source.manifest
        return Graph(replace(manifest, protocol=replace(manifest.protocol, sharing_depth=depth)))

    @property
    def ledger(self) -> Ledger:
        """What was given."""
        mine = self.tracing.ledger if self.tracing is not None else Ledger()
        return mine if self.again is None else mine.followed_by(self.again.ledger)

    @property
    def last(self) -> Making:
        """That of the last attempt."""
        return self if self.again is None else self.again

    # --- the parts of the run ---

    def logs(self, logs: Logs) -> Logs:
        """As they are in this run."""
        for stage in self.stages:
            logs = stage.edited(logs)
        return logs

    def compared(self, plan: Plan) -> Comparison:
        """What is made is held against the recording; that of a fork may differ."""
        if not self.stages:
            return Comparison(self.source, self.story, plan)
        self.comparison = ForkComparison(self.source, self.story, plan)
        return self.comparison

    def executed(self, plan: Plan, stepping: Stepping, operator: Operator) -> Execution:
        """What is chosen where a log was lost is drawn; else it is what was logged, as far as that goes."""
        sink = stepping.steps.sink
        self.tracing = Tracing(stepping, self.noting)
        if isinstance(sink, TracingSink):
            sink.tracing = self.tracing
        if not self.stages:
            return ParentExecution(self.source, plan, operator, self.tracing)
        seed = seed_of_answers(self.stages)
        self.world = world = ForkWorld(kept=not self.cut_logs, seed=seed, tell=self._tell)
        world.clock_ms = self.source.manifest.clock.origin_ms + stepping.steps.t_us // 1000
        steps = stepping.steps
        if not isinstance(steps, ForkSteps):
            raise InvariantError("a fork writes its steps as one")
        self.execution = ForkExecution(
            self.source,
            plan,
            operator,
            self.tracing,
            world,
            stages=self.stages,
            is_due=steps.is_due,
            other=self._operator,
            runs_out=self.cut_logs,
        )
        return self.execution

    def _operator(self, name: str) -> Operator:
        return operator_named(self.source, self.scene.task, name)

    def _tell(self, sentence: str) -> None:
        if self.tracing is not None:
            steps = self.tracing.stepping.steps
            steps.write("fork", sentence, causes=steps.caused_by("take-determinant", "take-buffer", "deliver-record"))


def operator_named(source: RecordingSource, task: str, name: str) -> Operator:
    """A new instance of another operator that is installed here."""
    try:
        return new_operator(with_operator(source.graph.vertex_of(task), name))
    except UnknownOperator as fault:
        raise WrongSetting(str(fault.why), remedy="Name one that is installed here") from None


class FailsAgain(BaseException):
    """The task fails in the midst of whatever it does: no operator is to take it for its own fault."""


class ForkSteps(StepWriter):
    """Numbers and writes the steps of a fork; at each step that is forked, one that says so comes first.

    `ends_at`: the step at which the replay that is forked was found to contradict its recording.
    """

    __slots__ = ("before_us", "ends_at", "fails", "waiting")

    waiting: deque[Stage]
    ends_at: int | None
    before_us: int | None
    fails: bool

    def begin_anew(self, epoch: int) -> None:
        """From here on they are those of another attempt."""
        self.fails = False
        self.state, self.epoch, self.record_count = "Standby", epoch, 0
        self.told.clear()

    @property
    def forked(self) -> tuple[str, ...]:
        """The step before, as a cause."""
        return (f"step:{self.count - 1}",) if self.count else ()

    def is_due(self, at: int) -> bool:
        """Whether what is done next is done past that step; forks that are still to be told of count as steps."""
        ahead = self.count
        for stage in self.waiting:
            if stage.at > ahead:
                break
            ahead += 1
        return at < ahead

    def say(self, form: StepForm, values: Values, *fields: Any) -> int:
        """As `StepWriter`."""
        if self.count == self.ends_at:
            raise DivergenceFound("The replay that is forked diverges there.")
        while self.waiting and self.count >= self.waiting[0].at:
            stage = self.waiting.popleft()
            words = f"Forked here from step {stage.at:,} of its parent: {stage.words}."
            # At the time of the step before it: that of what is taken next may be another one by the fork.
            now_us, self.t_us = self.t_us, self.t_us if self.before_us is None else self.before_us
            StepWriter.say(self, StepForm(self.task, MAIN, "fork", None, None), (words,), (), self.forked)
            self.t_us = now_us
            self.fails = self.fails or stage.again
        if self.fails:
            raise FailsAgain
        self.before_us = self.t_us
        return StepWriter.say(self, form, values, *fields)


def fork_steps(
    sink: StepSink,
    making: Making,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    ends_at: int | None = None,
) -> ForkSteps:
    """The steps of a run, from the first one on."""
    steps = ForkSteps(TracingSink(sink, making.noting), making.scene.task, progress, cancelled)
    steps.waiting, steps.ends_at = deque(making.stages), ends_at
    steps.before_us, steps.fails = None, False
    return steps
