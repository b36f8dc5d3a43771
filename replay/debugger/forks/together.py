"""Recoveries that are replayed together: whose step is forked, and what of a fork the others would notice."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from replay.debugger.executing.following import Until
from replay.debugger.forks.answering import Answering
from replay.debugger.forks.survival import survival
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import NoSteps, RecordingSource, Step, Told
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.debugger.together.connected import recovered_together
from replay.debugger.writing.steps import Progress
from replay.errors import CorruptMember, WrongSetting


class _Numbers(NoSteps):
    """Of each task, the numbers of its steps in the order in which it does them."""

    def __init__(self) -> None:
        self.of_task: dict[str, array[int]] = {}
        self.steps = 0

    def step(self, told: Told) -> None:
        """Counted."""
        step = Step._make(told)
        self.steps = step.step + 1
        if step.form.actor != "coordinator":
            self.of_task.setdefault(step.form.task, array("q")).append(step.step)


def own_step(
    source: RecordingSource,
    scenes: Sequence[Scene],
    step: int,
    until: Until,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> tuple[Scene, int]:
    """The one of them that does that step, and the step as its own replay numbers it: there it does the same."""
    numbers = _Numbers()
    failure = scenes[0].failure
    outcome = replay(source, failure=failure, until=until, sink=numbers, progress=progress, cancelled=cancelled)
    task = next((one for one, steps in numbers.of_task.items() if step in steps), None)
    if task is None:
        raise WrongSetting(
            f"no task does step {step} of the recoveries that are replayed together",
            remedy=f"Their steps go from 0 to {numbers.steps - 2}",
        )
    number = numbers.of_task[task].index(step)
    told = [one for one in outcome.detail["tasks"] if one["task"] == task]
    for one in sorted(told, key=lambda part: part["attempt"]):
        if number < one["steps"]:
            scene = next(each for each in scenes if (each.task, each.attempt) == (task, one["attempt"]))
            return scene, number
        number -= one["steps"]
    raise WrongSetting(f"step {step} is of no attempt of {task}", remedy="Name the task, and a step of its own replay")


def others_of(source: RecordingSource, story: Story, scene: Scene) -> list[dict[str, Any]]:
    """The failures that are recovered from together with this one, of other tasks."""
    if scene.failure is None:
        return []
    numbers = recovered_together(story, source.graph, scene.failure)
    found = [story.failures[number] | {"failure": number} for number in numbers]  # type: ignore[operator]
    return [{"task": one["task"], "failure": one["failure"]} for one in found if one["task"] != scene.task]


def told_of_others(
    others: Sequence[Mapping[str, Any]], downstream: Sequence[Mapping[str, Any]], asked: Answering | None
) -> list[dict[str, Any]]:
    """Of each, whether it took what may be affected; and, where other answers are given, what would come back to it."""
    reached = {str(one["task"]) for one in downstream}
    found = []
    for one in others:
        recovery: dict[str, Any] | None = None
        if asked is not None:
            moment = replace(asked, down=asked.down | {str(one["task"])})
            try:
                recovery = survival(moment, asked.graph.task(str(one["task"])).id).to_json()
            except (DivergenceFound, Missing) as fault:
                recovery = {"not_known": fault.sentence}
            except CorruptMember as fault:
                recovery = {"not_known": str(fault)}
        found.append({**one, "may_be_affected": one["task"] in reached, "recovery": recovery})
    return found
