"""What a change needs of the run that it changes: where it begins, which buffers are lost, what is answered instead."""

from __future__ import annotations

from collections.abc import Mapping

from replay.debugger.forks.answering import Answering
from replay.debugger.forks.changes import (
    Change,
    LostDeterminant,
    LostHolder,
    OfAnswers,
    OtherDepth,
    OtherOperator,
    OtherOrder,
    OtherValue,
    SecondFailure,
)
from replay.debugger.forks.making import Making, operator_named
from replay.debugger.forks.places import ForkPlace
from replay.debugger.forks.stages import Losing, Stage
from replay.debugger.forks.survival import survival
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import Answers
from replay.debugger.recorded.members import placed_buffers
from replay.debugger.recorded.story import Story
from replay.errors import WrongSetting, printable
from replay.model import MAIN, ChannelId, thread_of_output
from replay.recovery.answers import Answer

_AT_THE_END = 1 << 62
_VALUES = ("timestamp", "rng", "serializable")


def prepared(parent: Making, change: Change, place: ForkPlace) -> Stage:
    """The change as a stage; raises `WrongSetting` where it does not apply to the run at that place."""
    stage = Stage(change, place, place.asked if isinstance(change, OfAnswers) else place.step)
    _check_after(parent, place)
    match change:
        case OtherOperator(name):
            stage.words = _operator_words(parent, name)
        case OtherOrder() | OtherValue() | LostDeterminant():
            if place.own:
                _check_own(parent, change, place)
            elif isinstance(change, LostDeterminant):
                stage.losing, first = _losing(parent, place)
                stage.at = max(min(place.step, first), _begins(parent))
        case SecondFailure():
            _second_failure(parent, change, stage)
        case LostHolder() | OtherDepth():
            stage.altered = _altered(parent, change, stage)
    ledger = parent.ledger
    stage.first = {output: ledger.since(output, stage.at).first for output in ledger.outputs}
    return stage


def _begins(parent: Making) -> int:
    """The first step after those at which the run was forked."""
    return max((stage.at + 1 for stage in parent.stages), default=0)


def _check_after(parent: Making, place: ForkPlace) -> None:
    if any(stage.again for stage in parent.stages):
        raise WrongSetting(
            "the task failed again in this fork, and its next attempt is in no recording",
            remedy="Make the other change first, if it is one of what is answered, or fork another replay",
        )
    if place.step < _begins(parent):
        raise WrongSetting(
            f"step {place.step} is one of the replay that was forked, not of the fork, which begins at step "
            f"{_begins(parent) - 1}",
            remedy="Fork that replay at this step, and then the fork of it",
        )


def _check_own(parent: Making, change: Change, place: ForkPlace) -> None:
    """A choice that the fork made for itself, or the taking of a buffer that no log orders."""
    if not parent.stages or parent.execution is None or not parent.execution.free:
        raise WrongSetting(
            f"step {place.step} takes no determinant, so there is none to change",
            remedy="Fork at a step that takes a determinant from the log",
        )
    if isinstance(change, LostDeterminant):
        raise WrongSetting(
            "the fork chose this for itself: nobody else can have lost it", remedy="Give it another value instead"
        )
    if isinstance(change, OtherValue) and place.determinant not in _VALUES:
        raise WrongSetting(
            "the step chooses no time, no random number and no answer from outside",
            remedy="Fork at one that does",
        )
    if isinstance(change, OtherOrder) and (place.row.kind != "take-buffer" or change.with_offset is not None):
        raise WrongSetting(
            "no log says in which order buffers are taken here",
            remedy="Fork at a step that takes a buffer, without naming with",
        )


def _operator_words(parent: Making, name: str) -> str:
    task = parent.scene.task
    operator_named(parent.source, task, name)
    changes = [stage.change for stage in parent.stages]
    before = [one.operator for one in changes if isinstance(one, OtherOperator)]
    now = before[-1] if before else parent.source.graph.vertex_of(task).operator
    if name == now:
        raise WrongSetting("that is the operator that the task has", remedy="Name another one")
    return f"the operator {name} goes on with the state of {now}"


# --- what is lost ---


def _losing(parent: Making, place: ForkPlace) -> tuple[Losing, int]:
    """Whoever has a buffer has the determinants that its task had appended when it was cut: what was cut later is not
    named any more. And the first step of the parent that cut one that is not."""
    outputs = parent.source.graph.task(parent.scene.task).outputs
    named, first = [], _AT_THE_END
    for k, output in enumerate(outputs):
        span = parent.ledger.span(output.channel)
        if place.thread == MAIN:
            places = _main_places(parent, k)
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


def _main_places(parent: Making, k: int) -> dict[int, tuple[int, int]]:
    """By buffer of an output: where its task's main log stood when it was cut."""
    scene = parent.scene
    return {
        placed.frame.seq: (placed.frame.main_epoch, placed.frame.main_offset)
        for attempt in reversed((scene.attempt, *scene.before))
        for placed in placed_buffers(parent.source, scene.task, attempt, k)
    }


# --- what is answered ---


def _second_failure(parent: Making, change: SecondFailure, stage: Stage) -> None:
    """What is left of the task that fails there; and, where the forked one still asks, what is answered to it."""
    source, story, graph = parent.source, parent.story, parent.source.graph
    _check_logs(source)
    if change.task not in graph:
        raise WrongSetting(
            f"there is no task {printable(change.task)} in this recording",
            remedy="Name one of those that job.json lists",
        )
    task, mine = graph.task(change.task).id, change.task == parent.scene.task
    chosen_anew = any(not isinstance(one.change, OfAnswers) for one in parent.stages)
    if mine and parent.stages:
        raise WrongSetting(
            "what others would hold of what a fork does is in no recording, so that it can't fail again",
            remedy="Let the replay fail that was forked first",
        )
    t_us = max(0, stage.place.row.t_us - 1)  # what bears the very time of the step may come after it
    if not chosen_anew:
        depth, down = _as_it_was(parent)
        if parent.scene.failure is None or stage.place.row.state == "Running":
            down.discard(parent.scene.task)
        all_down = frozenset(down | down_at(story, t_us) | {task})
        stage.asked = Answering(source, story, Answers(source, story), t_us, all_down, depth)
        stage.survival = survival(stage.asked, task)
    fails = f"{task} fails {'again' if mine else 'too'} at this moment"
    if stage.survival is None:
        stage.words = f"{fails}; what comes back of its logs can't be told, as others may have had something else"
    else:
        stage.words = f"{fails}: {stage.survival.words()}"
    stage.again = mine
    if not mine and parent.scene.failure is not None:
        stage.altered = _altered(parent, change, stage)


def _check_logs(source: RecordingSource) -> None:
    if not source.manifest.protocol.logs:
        raise WrongSetting("the recording has no determinants that anybody held", remedy="Choose another change")


def _altered(parent: Making, change: OfAnswers, stage: Stage) -> Mapping[ChannelId, Answer]:
    source, scene, place = parent.source, parent.scene, stage.place
    if scene.failure is None:
        raise WrongSetting(
            "an attempt that is executed again from its own log asks nobody for it",
            remedy="Fork the replay of a failure with this change",
        )
    _check_logs(source)
    depth, down = _as_it_was(parent)
    match change:
        case OtherDepth(other):
            if other == depth:
                raise WrongSetting("that is the sharing depth that the job ran at", remedy="Give another one")
            if place.row.state not in ("Standby", "WaitingConnections"):
                raise WrongSetting("by this step the task has asked for its logs", remedy="Fork before it asks")
            depth = other
            stage.words = f"determinants had travelled {'all the way' if other is None else f'{other} hops'}"
        case LostHolder(holder):
            down.add(_below(parent, place, holder))
            stage.words = f"{holder} had failed too, and answers for nobody"
        case SecondFailure(task):
            down.add(task)
    t_us = place.row.t_us
    down |= down_at(parent.story, t_us)
    asked = stage.asked or Answering(source, parent.story, Answers(source, parent.story), t_us, frozenset(down), depth)
    stage.asked = asked
    settled = _settled(change, place)
    found = {} if place.merged else asked.of(scene.task, scene.checkpoint)
    return {channel: answer for channel, answer in found.items() if channel not in settled}


def _as_it_was(parent: Making) -> tuple[int | None, set[str]]:
    """How far determinants had travelled, and which tasks were down, by what was changed before."""
    depth, down = parent.source.manifest.protocol.sharing_depth, {str(parent.scene.task)}
    for stage in parent.stages:
        match stage.change:
            case OtherDepth(other):
                depth = other
            case LostHolder(holder=task) | SecondFailure(task=task):
                down.add(task)
    return depth, down


def _settled(change: OfAnswers, place: ForkPlace) -> frozenset[str]:
    """The answers that are in and stand: a failed task's is void, as long as they were not all in."""
    down = {getattr(change, name, None) for name in ("holder", "task")}
    return frozenset(one for one in place.answered if one.partition(">")[2] not in down)


def down_at(story: Story, t_us: int) -> set[str]:
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


def _below(parent: Making, place: ForkPlace, holder: str) -> str:
    graph, task = parent.source.graph, parent.scene.task
    if holder not in graph.all_downstream(task):
        known = ", ".join(one for one in graph.order if one in graph.all_downstream(task)) or "none"
        raise WrongSetting(f"nothing of {task} is held by {printable(holder)}", remedy=f"Holders are below it: {known}")
    if place.merged:
        raise WrongSetting("every answer is in by this step", remedy="Fork before the answers are merged")
    return holder
