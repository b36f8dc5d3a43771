"""Executes an attempt again from its own log, step by step: also where nothing failed."""

from __future__ import annotations

from typing import Any

from replay.causality.life import ENDED_WITH_RECORDING, life_of
from replay.debugger.agreeing.evidence import check_output
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import check_plan, culprit_upstream, operator_of, unchecked_plan_of_attempt
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import Bringers
from replay.debugger.recorded.lineage import Lineage
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Story
from replay.debugger.walking.log_walk import walk_log, walk_own_log
from replay.debugger.writing.followed import Followed
from replay.debugger.writing.stepping import Stepping
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import bytes_of, counted


def replay_attempt(
    source: RecordingSource, story: Story, scene: Scene, steps: StepWriter
) -> tuple[str, dict[str, Any]]:
    """(sentence, detail) where everything came out as recorded; raises where it did not."""
    task, attempt = scene.task, scene.attempt
    steps.state = "Running"
    steps.t_us, started = story.start_of(task, attempt)
    try:
        plan = unchecked_plan_of_attempt(source, story, task, attempt)
    except Missing:
        # Without the snapshot that it restored it can't be executed; its log can be read all the same.
        walk_own_log(source, story, scene, steps)
        raise
    comparison = Comparison(source, story, plan)
    stepping = stepping_of(source, plan, steps, comparison)
    try:
        operator = operator_of(source, task, scene.operators)
    except Missing:
        _check(source, story, plan, attempt)
        _walk_log(source, plan, steps)
        raise
    execution = Execution(source, plan, operator, stepping)
    # Before what is long is read from end to end: whoever waits for the replay sees where it begins.
    stepping.begin(execution, restored_words(plan), started)
    _check(source, story, plan, attempt)
    try:
        execution.run()
        comparison.writes.check_all_made()
    except Missing:
        if not execution.log.lengths:
            _walk_log(source, plan, steps)
        raise
    except DivergenceFound as found:
        raise culprit_upstream(source, story, task, found) from None
    if comparison.uncompared:
        raise Missing(
            f"Attempt {attempt} of {task} follows its log to the end, but the recording lacks "
            f"{counted(comparison.uncompared, 'buffer')} of it to compare with.",
            uncompared=comparison.uncompared,
        )
    size = sum(execution.log.lengths.values())
    counts = {"log_bytes": size, "buffers": comparison.compared, "snapshots": comparison.snapshots}
    sentence = f"Attempt {attempt} of {task}, executed again from its own log, is identical: "
    said = _made(story, task, attempt, size, comparison.compared)
    if gone := comparison.snapshots_gone:
        counts["snapshots_gone"] = gone
        said += f"; the recording lacks {counted(gone, 'snapshot')} of it to compare with"
    return f"{sentence}{said}.", {**counts, **stepping.resolution}


def stepping_of(source: RecordingSource, plan: Plan, steps: StepWriter, comparison: Comparison) -> Stepping:
    """Writes the steps of an attempt that follows its own log."""
    followed = Followed(Lineage(source, plan.task, plan.take_from))
    return Stepping(source.graph.task(plan.task), followed, steps, comparison, holds_back=False)


def restored_words(plan: Plan) -> str:
    """What it begins with."""
    what = f"the state of checkpoint {plan.checkpoint}" if plan.checkpoint else "the initial state"
    return f"Attempt {plan.take_from[0]} of {plan.task} begins again with {what}, and follows its own log."


def _walk_log(source: RecordingSource, plan: Plan, steps: StepWriter) -> None:
    """Where nothing was executed: the determinants of its log."""
    lineage = Lineage(source, plan.task, plan.take_from)
    walk_log(plan.logs, source.graph.task(plan.task), lineage, steps, Bringers())


def _check(source: RecordingSource, story: Story, plan: Plan, attempt: int) -> None:
    """What is there of the attempt, against everything else said of it."""
    check_plan(source, plan)
    for k in range(len(source.graph.task(plan.task).outputs)):
        check_output(source, story, plan.task, attempt, k)


def _made(story: Story, task: str, attempt: int, size: int, buffers: int) -> str:
    """How much was compared; of what there was nothing, that is said."""
    log = f"{bytes_of(size)} of log" if size else "it appended nothing to its logs"
    cut = counted(buffers, "buffer") if buffers else "it cut no buffer"
    if size and buffers:
        return f"{log} and {cut}"
    life = life_of(story.lives, task, attempt)
    if story.processed(task, attempt) or life is None or life.ended_by == ENDED_WITH_RECORDING:
        return f"{log}, and {cut}"
    state = story.last_state(task, attempt)
    return f"{log}, and {cut}, as a {life.ended_by} ended it in {state}, before it processed anything"
