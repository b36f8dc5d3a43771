"""One run of a replay that is to be forked: the parent once more, with everything noted, or the fork itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.following import Until
from replay.debugger.forks.changes import (
    LostDeterminant,
    OfAnswers,
    OfLogs,
    OtherDepth,
    OtherOperator,
    OtherOrder,
    OtherValue,
)
from replay.debugger.forks.edits import edited, with_operator
from replay.debugger.forks.execution import ForkExecution, Losing, ParentExecution
from replay.debugger.forks.lenient import ForkComparison
from replay.debugger.forks.places import ForkPlace
from replay.debugger.forks.world import ForkWorld
from replay.debugger.ports import RecordingSource, StepSink
from replay.debugger.recorded.logs import Logs
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Story
from replay.debugger.sides.ledger import Ledger
from replay.debugger.sides.trace import Noting
from replay.debugger.sides.tracing import Tracing, TracingSink
from replay.debugger.writing.stepping import Stepping
from replay.debugger.writing.steps import Progress, StepWriter
from replay.errors import WrongSetting
from replay.jobs.registry import UnknownOperator, new_operator
from replay.model import Graph
from replay.runtime.operators import Operator

Change = OfLogs | OfAnswers | OtherOperator


@dataclass(frozen=True, slots=True)
class Of:
    """Which replay of a recording is forked: what `replay` is asked for."""

    task: str | None = None
    failure: int | None = None
    attempt: int | None = None
    until: Until = "snapshot"


@dataclass(slots=True)
class Making:
    """`change` None is the parent. `words` says the change, as soon as it is known what it is a change of."""

    source: RecordingSource
    story: Story
    scene: Scene
    noting: Noting
    change: Change | None = None
    place: ForkPlace | None = None
    losing: Losing | None = None
    words: str = ""
    at: int = 0
    tracing: Tracing | None = None
    execution: ForkExecution | None = None
    comparison: ForkComparison | None = None
    world: ForkWorld | None = None
    cut_logs: bool = False

    @property
    def graph(self) -> Graph:
        """The job's, at the sharing depth of this run."""
        manifest = self.source.manifest
        if not isinstance(self.change, OtherDepth):
            return self.source.graph
        return Graph(replace(manifest, protocol=replace(manifest.protocol, sharing_depth=self.change.depth)))

    @property
    def ledger(self) -> Ledger:
        """What was given."""
        return self.tracing.ledger if self.tracing is not None else Ledger()

    # --- the parts of the run ---

    def logs(self, logs: Logs) -> Logs:
        """As they are in this run."""
        if self.place is None or not isinstance(self.change, OtherOrder | OtherValue | LostDeterminant):
            return logs
        changed, self.words = edited(logs, self.place, self.change)
        return changed

    def compared(self, plan: Plan) -> Comparison:
        """What is made is held against the recording; that of a fork may differ."""
        if self.change is None:
            return Comparison(self.source, self.story, plan)
        self.comparison = ForkComparison(self.source, self.story, plan)
        return self.comparison

    def executed(self, plan: Plan, stepping: Stepping, operator: Operator) -> Execution:
        """What is chosen where a log was lost is drawn; else it is what was logged, as far as that goes."""
        sink = stepping.steps.sink
        self.tracing = Tracing(stepping, self.noting)
        if isinstance(sink, TracingSink):
            sink.tracing = self.tracing
        if self.change is None:
            return ParentExecution(self.source, plan, operator, self.tracing)
        drawn = isinstance(self.change, LostDeterminant) or self.cut_logs
        seed = getattr(self.change, "seed", 0)
        self.world = world = ForkWorld(kept=not drawn, seed=seed, tell=self._tell)
        world.clock_ms = self.source.manifest.clock.origin_ms + stepping.steps.t_us // 1000
        other = partial(self._operator, self.change.operator) if isinstance(self.change, OtherOperator) else None
        self.execution = ForkExecution(
            self.source,
            plan,
            operator,
            self.tracing,
            world,
            other=other,
            losing=self.losing,
            runs_out=self.cut_logs,
            at=self.at,
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


class ForkSteps(StepWriter):
    """Numbers and writes the steps of a fork; at the step that is forked, one that says so comes first."""

    __slots__ = ("at", "say", "told")

    at: int
    say: Callable[[], str]
    told: bool

    def write(self, kind: str, text: str, **fields: Any) -> int:
        """As `StepWriter`."""
        if not self.told and self.count >= self.at:
            self.told = True
            before = (f"step:{self.count - 1}",) if self.count else ()
            StepWriter.write(self, "fork", self.say(), causes=before)
        return StepWriter.write(self, kind, text, **fields)


def fork_steps(
    sink: StepSink,
    task: str,
    at: int,
    say: Callable[[], str],
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> ForkSteps:
    """The steps of a fork, from the first one of its parent on."""
    steps = ForkSteps(sink, task, progress, cancelled)
    steps.at, steps.say, steps.told = at, say, False
    return steps
