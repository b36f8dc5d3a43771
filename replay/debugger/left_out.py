"""Gaps: what a recorder had to leave out of an attempt's logs is in no replay of it, and nothing is proven past one."""

from __future__ import annotations

from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Story
from replay.debugger.writing.words import counted


def gaps_of(story: Story, scene: Scene) -> int:
    """How many the logs have that are replayed: of one attempt, or of a recovery those of all of the task's."""
    return sum(
        event.get("type") == "gap"
        for (task, attempt), events in story.of_attempt.items()
        if task == scene.task and (scene.failure is not None or attempt == scene.attempt)
        for event in events
    )


def check_gapless(story: Story, scene: Scene) -> None:
    """Before it is said that all is the same: raises `Missing` where the recorder left something out."""
    gaps = gaps_of(story, scene)
    if gaps:
        raise Missing(
            f"Not verifiable: {_where(scene, gaps)}, where its recorder left something out. What was executed agrees "
            "with all that is there.",
            gaps=gaps,
        )


def gap_instead_of(story: Story, scene: Scene, found: DivergenceFound) -> Missing | None:
    """What is said in place of a divergence that what was left out may be all that is wrong with."""
    gaps = gaps_of(story, scene)
    if not gaps:
        return None
    return Missing(
        f"Not verifiable: {_where(scene, gaps)}, and what its recorder left out there may be why it differs. What was "
        f"found: {found.sentence}",
        **{**found.detail, "gaps": gaps},
    )


def _where(scene: Scene, gaps: int) -> str:
    whose = (
        f"the log of attempt {scene.attempt} of {scene.task} has"
        if scene.failure is None
        else f"logs of {scene.task} have"
    )
    return f"{whose} {counted(gaps, 'gap')}"
