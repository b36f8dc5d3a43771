"""Past the sharing depth: nobody is there before it is exceeded, and what happens then is what was configured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.model import TaskId
from replay.simulation.recording import Recording


def nobody_escalates_within_the_depth(recording: Recording) -> Iterator[str]:
    """Whoever does has tasks that failed below it, and behind them somebody past the depth; past full is nobody."""
    failed: set[str] = set()
    for one in recording.events:
        if one["type"] == "task-failed":
            failed.add(one["task"])
        elif one["type"] == "global-rollback":
            failed |= {task.id for task in recording.manifest.tasks}
        elif one["type"] == "escalated" and not _is_exceeded(recording, one["task"], failed):
            depth = recording.manifest.protocol.sharing_depth
            yield f"event {one['n']}: {one['task']} escalates, and failures are within the depth of {depth}"


def _is_exceeded(recording: Recording, task: str, failed: set[str]) -> bool:
    """Whether there is anybody past the depth to whom only failed tasks lead; the world is behind every sink."""
    depth, graph = recording.manifest.protocol.sharing_depth, recording.graph
    reached, behind = [TaskId(task)], 0
    for one in reached:
        below = graph.downstream(one)
        hops = 0 if one == task else graph.longest_distance(TaskId(task), one) or 0
        behind = max(behind, hops + 1, *(graph.longest_distance(TaskId(task), other) or 0 for other in below))
        reached += [other for other in below if other in failed and other not in reached]
    return depth is not None and behind > depth


def past_the_depth_is_what_was_configured(recording: Recording) -> Iterator[str]:
    """`rollback`: whoever escalates goes on no more, and nothing else rolls back; `continue`: there is no rollback."""
    rollback = recording.manifest.protocol.on_lost == "rollback"
    waiting: set[tuple[str, int]] = set()
    for one in recording.events:
        if one["type"] == "escalated":
            waiting.add((one["task"], one["attempt"]))
        elif one["type"] == "global-rollback":
            if not rollback:
                yield f"event {one['n']}: everything is rolled back, and was to go on"
            elif not waiting:
                yield f"event {one['n']}: everything is rolled back, and nobody escalated"
            waiting.clear()
        elif one["type"] == "task-failed":
            waiting.discard((one["task"], one["attempt"]))
    if rollback and waiting:
        yield f"{sorted(waiting)} escalated, and nothing was rolled back"


def who_goes_without_determinants_says_whose_are_lost(recording: Recording) -> Iterator[str]:
    """It is below a task that escalated, or at or below one that began so, begins before the first checkpoint of later,
    and asks for none: who begins without determinants contradicts what its attempt before had logged until then."""
    lost: list[tuple[dict[str, Any], int]] = []
    triggered = 0
    without: set[tuple[str, int]] = set()
    for one in recording.events:
        if one["type"] == "checkpoint-triggered":
            triggered = one["checkpoint"]
        elif one["type"] == "escalated":
            lost.append((one, triggered))
        elif one["type"] == "attempt-started" and one.get("diverged"):
            without.add((one["task"], one["attempt"]))
            if not any(_explains(recording, loss, upto, one) for loss, upto in lost):
                yield f"event {one['n']}: {one['task']} goes without determinants, and nobody lost any"
            lost.append((one, triggered))
        elif (
            one["type"] == "determinants-requested"
            and one["of"] == one["at"]
            and (one["at"], one["attempt"]) in without
        ):
            yield f"event {one['n']}: {one['at']} asks for determinants that bind it no more"


def _explains(recording: Recording, loss: dict[str, Any], triggered: int, began: dict[str, Any]) -> bool:
    # One that was triggered while the coordinator heard of it may still have been void.
    bound = recording.graph.all_downstream(loss["task"])
    again = loss["type"] == "attempt-started" and began["task"] == loss["task"]
    return (again or began["task"] in bound) and began["checkpoint"] <= triggered + 1


def what_is_not_below_a_loss_counts_once(recording: Recording) -> Iterator[str]:
    """Tasks that lost nothing and read from none that did are as exact as ever: so are the offsets of the sources."""
    below = {task for one in recording.escalated for task in recording.graph.all_downstream(one["task"])}
    for task in recording.sources:
        for checkpoint in recording.completed:
            state = recording.state(task, checkpoint)
            if task not in below and state["operator"]["records"] != state["source"]["offset"]:
                yield f"{task} counted {state['operator']['records']} of {state['source']['offset']} by {checkpoint}"
    for one in recording.manifest.tasks:
        if one.id in below:
            continue
        for attempt in range(recording.attempts(one.id)):
            first = recording.restored_state(one.id, attempt).get("inputs", {})
            for i, channel in enumerate(one.inputs):
                seqs = [receipt.seq for receipt in recording.receipts(one.id, attempt, i) if receipt.taken]
                begin = first.get(channel, 0)
                if seqs != list(range(begin, begin + len(seqs))):
                    yield f"{one.id} attempt {attempt} took buffers {seqs} of {channel}, and is below no loss"


CHECKS = (
    nobody_escalates_within_the_depth,
    past_the_depth_is_what_was_configured,
    who_goes_without_determinants_says_whose_are_lost,
)
CONTINUED = (what_is_not_below_a_loss_counts_once,)
