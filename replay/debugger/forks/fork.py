"""Forks a replay: runs the parent once more with everything noted, then the fork, and says where and how they part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from replay.debugger.agreeing.lacking import lack_behind
from replay.debugger.attempt_replay import restored_words, stepping_of
from replay.debugger.executing.following import Until
from replay.debugger.executing.verify import operator_of, plan_of_attempt
from replay.debugger.forks.again import Again
from replay.debugger.forks.changes import MOST_CHANGES, At, Change, change_to_json
from replay.debugger.forks.making import FailsAgain, ForkSteps, Making, Of, fork_steps
from replay.debugger.forks.places import PlaceFinder
from replay.debugger.forks.preparing import prepared
from replay.debugger.forks.recovery import ForkRecovery
from replay.debugger.forks.report import report_of
from replay.debugger.forks.stages import Stage
from replay.debugger.forks.together import own_step
from replay.debugger.outcome import DivergenceFound, Missing, Outcome
from replay.debugger.ports import NoSteps, RecordingSource, StepSink
from replay.debugger.recorded.scene import Scene, scenes_of
from replay.debugger.recorded.story import Story
from replay.debugger.sides.trace import Difference, Lockstep, NothingNoted, Noting, Trace
from replay.debugger.turns import at_once
from replay.debugger.writing.steps import Progress, StepWriter
from replay.errors import CorruptMember, InvariantError, WrongSetting


@dataclass(slots=True)
class Forked:
    """What a fork is of, and how it ended. `ended`, `parent_ended`: why it or its parent went no further, where they
    could not."""

    of: Of
    parent: Making
    made: Making
    differences: list[Difference] = field(default_factory=list)
    said: str = ""
    ended: str = ""
    parent_ended: str = ""
    parent_steps: int = 0

    @property
    def stage(self) -> Stage:
        """The last change: that which the parent is without."""
        return self.made.stages[-1]


def fork(
    source: RecordingSource,
    *,
    step: int,
    change: Change,
    before: Sequence[At] = (),
    task: str | None = None,
    failure: int | None = None,
    attempt: int | None = None,
    until: Until = "snapshot",
    diverged_at: int | None = None,
    sink: StepSink | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Outcome:
    """Replays what `replay` would, but with the change at that step; the steps before it are those of the parent.

    Of recoveries that are replayed together, the task that does the step is forked, in its own replay: the others go
    on as recorded.
    `before`: the changes of the forks that the parent is one of, the first one first, each with its step in its own
    parent. `diverged_at`: the step at which the replay that was forked first diverged.
    The verdict is `forked`; `unknown` where the recording lacks what the parent needs. Raises `WrongSetting` where the
    change does not apply there.
    """
    chain = (*before, At(step, change))
    if len(chain) > MOST_CHANGES:
        raise WrongSetting(
            f"{len(chain)} forks stand one on another", remedy=f"Fork one on which at most {MOST_CHANGES - 1} stand"
        )
    story = Story.read(source.events())
    scene, *others = scenes_of(source, story, task=task, failure=failure, attempt=attempt)
    if others:
        scene, own = own_step(source, (scene, *others), chain[0].step, until, progress, cancelled)
        chain = (At(own, chain[0].change), *chain[1:])
    run = _Runs(Of(task, failure, attempt, until), source, story, scene, diverged_at, progress, cancelled)
    with Trace() as trace:
        try:
            for at in chain[:-1]:
                run.parent(at, NothingNoted())
            forked = run.parent(chain[-1], trace)
        except (DivergenceFound, CorruptMember, Missing) as found:
            return _no_parent(found, scene, sink)
        return run.made(forked, Lockstep(trace), sink or NoSteps())


def _no_parent(found: Exception, scene: Scene, sink: StepSink | None) -> Outcome:
    said = f"There is nothing to fork, as what it would begin from is not known: {getattr(found, 'sentence', found)}"
    steps = StepWriter(sink or NoSteps(), scene.task)
    steps.write("finish", said)
    steps.sink.flush()
    return Outcome("unknown", said, scene.task, scene.attempt, scene.failure, steps.count, {})


def _check_diverges(source: RecordingSource, found: Exception, finder: PlaceFinder) -> None:
    """A replay that diverges can be forked before that; where the recording lacks something, nothing is proven."""
    if isinstance(found, DivergenceFound) and (lack := lack_behind(source, found)) is not None:
        raise lack.instead_of(found) from None
    if finder.found is None or isinstance(found, Missing):
        raise found


@dataclass(slots=True)
class _Runs:
    """The replay itself, then with one change more each time."""

    of: Of
    source: RecordingSource
    story: Story
    scene: Scene
    diverged_at: int | None
    progress: Progress | None
    cancelled: Callable[[], bool] | None
    stages: tuple[Stage, ...] = ()

    def parent(self, at: At, noting: Noting) -> Forked:
        """Runs what is forked there, and finds out what the change needs; ready to be made."""
        finder = PlaceFinder(NoSteps(), at.step)
        parent = Making(self.source, self.story, self.scene, noting, self.stages)
        ends_at = None if self.stages else self.diverged_at
        steps = fork_steps(finder, parent, self.progress, self.cancelled, ends_at)
        ended = ""
        try:
            _Run(self.of, parent, steps).run()
        except (DivergenceFound, CorruptMember, Missing) as found:
            if not self.stages:
                _check_diverges(self.source, found, finder)
            ended = getattr(found, "sentence", str(found))
        stage = prepared(parent, at.change, finder.place())
        self.stages = (*self.stages, stage)
        made = Making(self.source, self.story, self.scene, noting, self.stages)
        return Forked(self.of, parent, made, parent_ended=ended, parent_steps=finder.steps)

    def made(self, forked: Forked, against: Lockstep, sink: StepSink) -> Outcome:
        """Runs the fork, held against its parent."""
        made, scene = forked.made, self.scene
        made.noting = against
        steps = fork_steps(sink, made, self.progress, self.cancelled)
        run = _Run(self.of, made, steps)
        try:
            run.run()
            forked.said = run.said
        except (DivergenceFound, Missing) as found:
            forked.ended = found.sentence
        except CorruptMember as fault:
            forked.ended = str(fault)
        differences = against.finish()
        forked.differences = [one for one in differences if not forked.parent_ended or one.first is not None]
        report = report_of(forked)
        sentence = report["sentence"]
        steps.write("finish", sentence, causes=(f"step:{steps.count - 1}",) if steps.count else ())
        steps.sink.flush()
        detail = {"fork": report | {"change": change_to_json(forked.stage.change)}}
        return Outcome("forked", sentence, scene.task, scene.attempt, scene.failure, steps.count, detail)


@dataclass(slots=True)
class _Run:
    """One run: an attempt from its own log, or a recovery."""

    of: Of
    making: Making
    steps: ForkSteps
    said: str = ""

    def run(self) -> None:
        """To its end; raises where something is missing, or where the operator fails."""
        try:
            if self.making.scene.failure is None:
                self._attempt()
            else:
                self._recovery()
        except FailsAgain:
            survival = self.making.stages[-1].survival
            if survival is None:
                raise InvariantError("a task that fails again is asked what is left of it") from None
            self.said = Again(self.making, self.steps, self.of.until, survival).run()

    def _attempt(self) -> None:
        making, steps = self.making, self.steps
        source, story, scene = making.source, making.story, making.scene
        task, attempt = scene.task, scene.attempt
        steps.state = "Running"
        steps.t_us, started = story.start_of(task, attempt)
        plan = plan_of_attempt(source, story, task, attempt)
        changed = replace(plan, logs=making.logs(plan.logs))
        stepping = stepping_of(source, plan, steps, making.compared(plan))
        execution = making.executed(changed, stepping, operator_of(source, task))
        stepping.begin(execution, restored_words(plan), started)
        execution.run()

    def _recovery(self) -> None:
        making = self.making
        self.steps.t_us = making.story.failed_us(making.scene.failure)
        replayed = ForkRecovery(
            making.source, making.story, making.scene, self.steps, until=self.of.until, making=making
        )
        _, self.said = at_once(replayed.turns())
