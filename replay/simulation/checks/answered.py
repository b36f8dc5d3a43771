"""Failures: each is detected once and answered, and what lies within the sharing depth is answered by a recovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replay.causality.life import ORPHAN
from replay.model import TaskId
from replay.simulation.recording import Recording


def every_failure_is_answered(recording: Recording) -> Iterator[str]:
    """By a later attempt of its task; the last attempt of every task never failed, and runs."""
    for one in recording.events:
        if one["type"] == "task-failed" and one["attempt"] + 1 >= recording.attempts(one["task"]):
            yield f"failure {one['failure']} of {one['task']} was never answered"
    for task, starts in recording.starts.items():
        last = starts[-1]
        alone = last["attempt"] and "rollback" not in last
        states = [one["to"] for one in recording.events_at(task, last["attempt"]) if one["type"] == "recovery-state"]
        if alone and states[-1:] != ["Running"]:
            yield f"{task} attempt {last['attempt']} ends in {states[-1] if states else 'no state'}"


def failures_are_detected_once(recording: Recording) -> Iterator[str]:
    """Never before they happen, and nobody is replaced whose failure is not known. Of orphans the coordinator knows."""
    failed = {one["failure"]: one["n"] for one in recording.events if one["type"] == "task-failed"}
    detected: Counter[int] = Counter()
    for one in recording.events:
        if one["type"] == "task-failed" and one["cause"].startswith(ORPHAN):
            detected[one["failure"]] = 1
        elif one["type"] == "failure-detected":
            detected[one["failure"]] += 1
            if detected[one["failure"]] > 1 or failed.get(one["failure"], one["n"]) >= one["n"]:
                yield f"event {one['n']}: failure {one['failure']} is detected twice, or before it happened"
        elif one["type"] in ("standby-activated", "task-rescheduled") and not detected[one["failure"]]:
            yield f"event {one['n']}: {one['task']} is replaced, and failure {one['failure']} is not detected"


def every_attempt_fails_once(recording: Recording) -> Iterator[str]:
    """Whoever was only suspected is no news to the coordinator when it ends."""
    failed: set[tuple[str, int]] = set()
    for one in recording.events:
        if one["type"] == "task-failed":
            if (one["task"], one["attempt"]) in failed:
                yield f"event {one['n']}: attempt {one['attempt']} of {one['task']} had failed already"
            failed.add((one["task"], one["attempt"]))


def nobody_gives_up_within_the_depth(recording: Recording) -> Iterator[str]:
    """Whoever escalates stands above failed tasks in a row that lead past the depth; at full depth nobody does."""
    depth = recording.manifest.protocol.sharing_depth
    failed: set[str] = set()
    for one in recording.events:
        if one["type"] == "task-failed":
            failed.add(one["task"])
        elif one["type"] == "global-rollback":
            failed.clear()
        elif one["type"] == "escalated" and not (
            depth is not None and _leads_past(recording, one["task"], one["task"], depth, failed)
        ):
            told = "full" if depth is None else depth
            yield f"event {one['n']}: {one['task']} gives up within sharing depth {told}; failed were {sorted(failed)}"


def _leads_past(recording: Recording, top: TaskId, at: TaskId, depth: int, failed: set[str]) -> bool:
    """Whether failed tasks lead down from one to somebody who may have followed from it over more hops than that.

    A world that keeps determinants is somebody, below the sinks.
    """
    graph = recording.graph
    below, hops = graph.downstream(at), 1 + (graph.longest_distance(top, at) or 0)
    if hops > depth and (below or recording.manifest.protocol.sink == "determinant"):
        return True
    return any(one in failed and _leads_past(recording, top, one, depth, failed) for one in below)


def what_is_restored_is_a_whole_snapshot(recording: Recording) -> Iterator[str]:
    """However little of it was uploaded: each restore weighs what the snapshot does, and what tasks are said to."""
    said = recording.hosting.state_bytes
    for one in recording.events if said is not None else ():
        if one["type"] != "restore-started":
            continue
        whole = recording.state_bytes(one["task"], one["checkpoint"]) + (said or 0 if one["checkpoint"] else 0)
        if one["bytes"] != whole:
            yield f"event {one['n']}: {one['task']} restores {one['bytes']} bytes of {whole}"


CHECKS = (
    every_failure_is_answered,
    failures_are_detected_once,
    every_attempt_fails_once,
    nobody_gives_up_within_the_depth,
    what_is_restored_is_a_whole_snapshot,
)
