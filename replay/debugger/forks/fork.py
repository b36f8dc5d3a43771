"""Forks a replay: runs the parent once more with everything noted, then the fork, and says where and how they part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from replay.debugger.attempt_replay import restored_words, stepping_of
from replay.debugger.executing.following import Until
from replay.debugger.executing.verify import operator_of, plan_of_attempt
from replay.debugger.forks.answering import Answering
from replay.debugger.forks.changes import (
    Change,
    LostDeterminant,
    LostHolder,
    OfAnswers,
    OtherDepth,
    OtherOperator,
    SecondFailure,
    change_to_json,
)
from replay.debugger.forks.execution import Losing
from replay.debugger.forks.making import Making, Of, fork_steps, operator_named
from replay.debugger.forks.places import ForkPlace, PlaceFinder
from replay.debugger.forks.recovery import ForkRecovery
from replay.debugger.forks.report import report_of
from replay.debugger.outcome import DivergenceFound, Missing, Outcome
from replay.debugger.ports import NoSteps, RecordingSource, StepSink
from replay.debugger.recorded.answers import Answers
from replay.debugger.recorded.members import placed_buffers
from replay.debugger.recorded.scene import Scene, scenes_of
from replay.debugger.recorded.story import Story
from replay.debugger.sides.trace import Difference, Lockstep, Trace
from replay.debugger.sides.tracing import TracingSink
from replay.debugger.turns import at_once
from replay.debugger.writing.steps import Progress, StepWriter
from replay.errors import CorruptMember, WrongSetting
from replay.model import MAIN, ChannelId, thread_of_output
from replay.recovery.answers import Answer

_AT_THE_END = 1 << 62


@dataclass(slots=True)
class Forked:
    """What a fork is of, and how it ended. `ended`: why it went no further, where it could not."""

    of: Of
    step: int
    change: Change
    place: ForkPlace
    parent: Making
    made: Making
    differences: list[Difference] = field(default_factory=list)
    said: str = ""
    ended: str = ""


def fork(
    source: RecordingSource,
    *,
    step: int,
    change: Change,
    task: str | None = None,
    failure: int | None = None,
    attempt: int | None = None,
    until: Until = "snapshot",
    sink: StepSink | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Outcome:
    """Replays what `replay` would, but with the change at that step; the steps before it are those of the parent.

    The verdict is `forked`; `unknown` where the recording lacks what the parent needs. Raises `WrongSetting` where the
    change does not apply there.
    """
    story = Story.read(source.events())
    scene, *others = scenes_of(source, story, task=task, failure=failure, attempt=attempt)
    if others:
        raise WrongSetting(
            f"failure {scene.failure} is replayed together with others, and a fork is of one task",
            remedy="Name the task, and the step as it is numbered in that task's own replay",
        )
    of = Of(task, failure, attempt, until)
    with Trace() as trace:
        finder = PlaceFinder(NoSteps(), step)
        parent = Making(source, story, scene, trace)
        steps = StepWriter(TracingSink(finder, trace), scene.task, progress, cancelled)
        try:
            _Run(of, parent, steps).run()
        except (DivergenceFound, CorruptMember, Missing) as found:
            return _no_parent(found, scene, sink)
        place = finder.place()
        against = Lockstep(trace)
        made = Making(source, story, scene, against, change, place)
        forked = Forked(of, step, change, place, parent, made)
        try:
            altered = _prepared(forked)
        except (DivergenceFound, CorruptMember, Missing) as found:
            return _no_parent(found, scene, sink)
        return _fork(forked, altered, against, sink or NoSteps(), progress, cancelled)


def _no_parent(found: Exception, scene: Scene, sink: StepSink | None) -> Outcome:
    said = f"There is nothing to fork, as what it would begin from is not known: {getattr(found, 'sentence', found)}"
    steps = StepWriter(sink or NoSteps(), scene.task)
    steps.write("finish", said)
    steps.sink.flush()
    return Outcome("unknown", said, scene.task, scene.attempt, scene.failure, steps.count, {})


# --- a run ---


@dataclass(slots=True)
class _Run:
    """The parent, or the fork: an attempt from its own log, or a recovery."""

    of: Of
    making: Making
    steps: StepWriter
    altered: Mapping[ChannelId, Answer] = field(default_factory=dict)
    said: str = ""

    def run(self) -> None:
        """To its end; raises where something is missing, or where the operator fails."""
        if self.making.scene.failure is None:
            self._attempt()
        else:
            self._recovery()

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
            making.source,
            making.story,
            making.scene,
            self.steps,
            until=self.of.until,
            making=making,
            altered=self.altered,
        )
        _, self.said = at_once(replayed.turns())


# --- what a change needs ---


def _prepared(forked: Forked) -> Mapping[ChannelId, Answer]:
    """Answers that are others; and that the change applies at that step at all."""
    change, made, place = forked.change, forked.made, forked.place
    if isinstance(change, OtherOperator):
        operator_named(made.source, made.scene.task, change.operator)
        made.words = f"the operator {change.operator} goes on with the state of {_operator(made)}"
        if change.operator == _operator(made):
            raise WrongSetting("that is the operator that the task has", remedy="Name another one")
    if not isinstance(change, OfAnswers):
        forked.step = place.step
    if isinstance(change, LostDeterminant):
        made.losing, first = _losing(forked)
        forked.step = min(place.step, first)
    made.at = forked.step
    return _altered(forked) if isinstance(change, OfAnswers) else {}


def _operator(made: Making) -> str:
    return made.source.graph.vertex_of(made.scene.task).operator


def _losing(forked: Forked) -> tuple[Losing, int]:
    """Whoever has a buffer has the determinants that its task had appended when it was cut: what was cut later is not
    named any more. And the first step of the parent that cut one that is not."""
    made, place, parent = forked.made, forked.place, forked.parent
    outputs = made.source.graph.task(made.scene.task).outputs
    named, first = [], _AT_THE_END
    for k, output in enumerate(outputs):
        span = parent.ledger.span(output.channel)
        if place.thread == MAIN:
            places = _main_places(made, k)
            later = (
                seq for seq in range(span.first, span.end) if places.get(seq, (0, 0)) > (place.epoch, place.offset)
            )
        else:
            own = place.thread == thread_of_output(k)
            later = (seq for seq in range(span.first, span.end) if own and seq >= (place.row.buffer or 0))
        end = next(later, span.end)
        named.append(end - span.first)
        step = parent.ledger.step_of(output.channel, end)
        first = min(first, _AT_THE_END if step is None else step)
    return Losing(tuple(named), (place.epoch, place.offset) if place.thread == MAIN else None), first


def _main_places(made: Making, k: int) -> dict[int, tuple[int, int]]:
    """By buffer of an output: where its task's main log stood when it was cut."""
    scene = made.scene
    return {
        placed.frame.seq: (placed.frame.main_epoch, placed.frame.main_offset)
        for attempt in reversed((scene.attempt, *scene.before))
        for placed in placed_buffers(made.source, scene.task, attempt, k)
    }


def _altered(forked: Forked) -> Mapping[ChannelId, Answer]:
    change, made, place = forked.change, forked.made, forked.place
    source, scene = made.source, made.scene
    if scene.failure is None:
        raise WrongSetting(
            "an attempt that is executed again from its own log asks nobody for it",
            remedy="Fork the replay of a failure with this change",
        )
    if not source.manifest.protocol.logs:
        raise WrongSetting("the recording has no determinants that anybody held", remedy="Choose another change")
    depth, t_us = source.manifest.protocol.sharing_depth, place.row.t_us
    down: set[str] = {scene.task}
    match change:
        case OtherDepth(other):
            if other == depth:
                raise WrongSetting("that is the sharing depth that the job ran at", remedy="Give another one")
            if place.row.state not in ("Standby", "WaitingConnections"):
                raise WrongSetting("by this step the task has asked for its logs", remedy="Fork before it asks")
            depth = other
            made.words = f"determinants had travelled {'all the way' if other is None else f'{other} hops'}"
        case LostHolder(holder):
            down.add(_below(forked, holder))
            made.words = f"{holder} had failed too, and answers for nobody"
        case SecondFailure(task):
            down.add(_other_task(forked, task))
            made.words = f"{task} fails at this moment too"
    down |= _down_at(made.story, t_us)
    asked = Answering(source, made.story, Answers(source, made.story), t_us, frozenset(down), depth)
    settled = _settled(forked)
    found = {} if place.merged else asked.of(scene.task, scene.checkpoint)
    return {channel: answer for channel, answer in found.items() if channel not in settled}


def _settled(forked: Forked) -> frozenset[str]:
    """The answers that are in and stand: a failed task's is void, as long as they were not all in."""
    down = {getattr(forked.change, name, None) for name in ("holder", "task")}
    return frozenset(one for one in forked.place.answered if one.partition(">")[2] not in down)


def _down_at(story: Story, t_us: int) -> set[str]:
    """Tasks whose recovery had not yet come to its end."""
    found = set()
    for (task, attempt), events in story.of_attempt.items():
        start = story.starts.get((task, attempt), {}).get("t_us", 0)
        running = [one["t_us"] for one in events if one.get("type") == "recovery-state" and one.get("to") == "Running"]
        life = next((one for one in story.lives.get(task, ()) if one.attempt == attempt), None)
        if (
            attempt
            and start <= t_us
            and (life is None or life.ended_us >= t_us)
            and t_us < min(running, default=t_us + 1)
        ):
            found.add(task)
    return found


def _below(forked: Forked, holder: str) -> str:
    graph, task = forked.made.source.graph, forked.made.scene.task
    if holder not in graph.all_downstream(task):
        known = ", ".join(one for one in graph.order if one in graph.all_downstream(task)) or "none"
        raise WrongSetting(f"{holder} holds nothing of {task}", remedy=f"Holders are below it: {known}")
    if forked.place.merged:
        raise WrongSetting("every answer is in by this step", remedy="Fork before the answers are merged")
    return holder


def _other_task(forked: Forked, task: str) -> str:
    graph = forked.made.source.graph
    if task not in graph or task == forked.made.scene.task:
        raise WrongSetting(
            f"{task} is not another task of this recording", remedy="Name one of those that job.json lists"
        )
    return task


# --- the fork itself ---


def _fork(
    forked: Forked,
    altered: Mapping[ChannelId, Answer],
    against: Lockstep,
    sink: StepSink,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> Outcome:
    made, scene = forked.made, forked.made.scene

    def say() -> str:
        return f"Forked here from step {forked.step:,} of its parent: {made.words}."

    steps = fork_steps(TracingSink(sink, made.noting), made.scene.task, forked.step, say, progress, cancelled)
    run = _Run(forked.of, made, steps, altered)
    try:
        run.run()
        forked.said = run.said
    except (DivergenceFound, Missing) as found:
        forked.ended = found.sentence
    except CorruptMember as fault:
        forked.ended = str(fault)
    forked.differences = against.finish()
    report = report_of(forked)
    sentence = report["sentence"]
    steps.write("finish", sentence, causes=(f"step:{steps.count - 1}",) if steps.count else ())
    steps.sink.flush()
    detail = {"fork": report | {"change": change_to_json(forked.change)}}
    return Outcome("forked", sentence, scene.task, scene.attempt, scene.failure, steps.count, detail)
