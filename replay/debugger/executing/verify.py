"""Executes recorded attempts again in silence: their buffers, snapshots and writes must be what their logs lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from replay.bundle.members import member_name
from replay.debugger.agreeing.evidence import check_output
from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.logs import Built, check_decodable
from replay.debugger.recorded.scene import Operators, own_logs, snapshot_of
from replay.debugger.recorded.story import Story
from replay.debugger.writing.words import no_logs
from replay.jobs.registry import UnknownOperator, new_operator
from replay.model import Record, TaskId
from replay.runtime.body.output import Cut
from replay.runtime.operators import Operator

_LOOK_UP_EVERY = 1024


class Silent(Bystander):
    """Compares and tells nobody."""

    def __init__(self, comparison: Comparison):
        self.comparison = comparison

    def begins(self, execution: Execution) -> None:
        """Whoever observes more than this says so here."""

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """A buffer is about to be taken."""
        self.comparison.taken(taken, epoch, offset, record_count)

    def cut(self, k: int, cut: Cut, named: Built | None) -> None:
        """A buffer was cut."""
        self.comparison.cut(k, cut)

    def wrote(self, record: Record) -> None:
        """A sink's write."""
        self.comparison.wrote(record)

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """A sink's part of a snapshot."""
        return self.comparison.sealed(epoch)

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A snapshot is complete."""
        self.comparison.snapshot_taken(checkpoint, state)


UNPROCESSED = "Records can't be processed again: "


def operator_of(source: RecordingSource, task: TaskId, operators: Operators = new_operator) -> Operator:
    """A new instance of the task's operator; one that isn't installed here is missing."""
    try:
        return operators(source.graph.vertex_of(task))
    except UnknownOperator as fault:
        raise Missing(f"{UNPROCESSED}{fault}", operator=source.graph.vertex_of(task).operator) from None


def plan_of_attempt(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> Plan:
    """An attempt, from its own log: what it restored, took, and chose."""
    plan = unchecked_plan_of_attempt(source, story, task, attempt)
    check_plan(source, plan)
    return plan


def check_plan(source: RecordingSource, plan: Plan) -> None:
    """Every determinant of its logs can be read."""
    try:
        check_decodable(plan.logs, plan.where, source.graph.task(plan.task).counted_inputs)
    except DivergenceFound as found:
        thread, epoch = found.detail.get("thread"), found.detail.get("epoch")
        if plan.recovered is None and isinstance(thread, str) and isinstance(epoch, int):
            found.detail.setdefault("member", member_name(plan.task, plan.take_from[0], thread, epoch))
        raise


def unchecked_plan_of_attempt(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> Plan:
    """Without reading its logs from end to end, which takes seconds where they are long."""
    checkpoint = story.checkpoint_of(task, attempt)
    state = snapshot_of(source, task, checkpoint, attempt)
    if checkpoint and state is None:
        raise Missing(
            f"The recording lacks the snapshot of checkpoint {checkpoint} that attempt {attempt} of {task} restored "
            f"(no state/{checkpoint}.json), so it can't be executed again.",
            checkpoint=checkpoint,
        )
    logs = own_logs(source, task, attempt, from_epoch=checkpoint)
    if not any(logs.values()):
        protocol = source.manifest.protocol
        because = no_logs(protocol) if not protocol.logs else f"no .det members under tasks/{task}/{attempt}/"
        raise Missing(
            f"Attempt {attempt} of {task} has no log in this recording ({because}), so its choices are not known.",
            attempt=attempt,
        )
    where = f"the log of attempt {attempt} of {task}"
    return Plan(
        task,
        checkpoint,
        state,
        logs,
        (attempt,),
        where,
        to_the_last_take=not source.graph.task(task).outputs,
        begin_anew=story.without_determinants,
    )


def verify_attempt(
    source: RecordingSource,
    story: Story,
    task: TaskId,
    attempt: int,
    look_up: Callable[[], None] | None = None,
    watching: Callable[[Comparison], Silent] = Silent,
) -> Comparison:
    """Raises `DivergenceFound` at the first thing that the attempt can't have done. `look_up` is called on the way."""
    plan = plan_of_attempt(source, story, task, attempt)
    comparison = Comparison(source, story, plan)
    watcher = watching(comparison)
    execution = Execution(source, plan, operator_of(source, task), watcher)
    watcher.begins(execution)
    execution.start()
    done = 0
    while execution.step():
        done += 1
        if look_up is not None and done % _LOOK_UP_EVERY == 0:
            look_up()
    execution.check_complete()
    comparison.writes.check_all_made()
    return comparison


def culprit_upstream(source: RecordingSource, story: Story, task: TaskId, found: DivergenceFound) -> DivergenceFound:
    """A damaged buffer shows first in what is made of it: looks from the sources down for the one that differs."""
    above = source.graph.all_upstream(task)
    for one in (each for each in source.graph.order if each in above):
        for attempt in source.attempts(one):
            try:
                for k in range(len(source.graph.task(one).outputs)):
                    check_output(source, story, one, attempt, k)
                verify_attempt(source, story, one, attempt)
            except DivergenceFound as earlier:
                return earlier
            except Missing:
                continue
    return found
