"""Coordinated checkpoints: every failure undoes all since the checkpoint, and nothing is logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replay.simulation.checks import buffers, sinks, states
from replay.simulation.recording import Recording


def every_failure_rolls_all_back(recording: Recording) -> Iterator[str]:
    """A rollback for each detected failure, and each begins every task anew; no attempt begins in another way."""
    detected = {one["failure"] for one in recording.events if one["type"] == "failure-detected"}
    rollbacks = {one["n"]: one["failure"] for one in recording.events if one["type"] == "global-rollback"}
    if detected != set(rollbacks.values()):
        yield f"failures {sorted(detected)} were detected, and those rolled back were {sorted(rollbacks.values())}"
    begun: Counter[int] = Counter()
    for one in recording.events:
        if one["type"] == "attempt-started" and one["attempt"]:
            begun[one.get("rollback", -1)] += 1
    tasks = len(recording.manifest.tasks)
    if begun != Counter(dict.fromkeys(rollbacks, tasks)):
        yield f"attempts of {tasks} tasks began by rollback: {dict(begun)}"


def nothing_is_logged(recording: Recording) -> Iterator[str]:
    """No determinants, and no task that recovers alone."""
    for name, data in recording.members.items():
        if name.endswith(".det") and data:
            yield f"{name} holds {len(data)} bytes of determinants"
    for one in recording.events:
        if one["type"] in ("determinants-requested", "replay-requested", "recovery-state"):
            yield f"event {one['n']} is of a recovery of {one['at']} alone"


CHECKS = (
    every_failure_rolls_all_back,
    nothing_is_logged,
    *buffers.EXACT,
    *states.EXACT,
    *sinks.EXACT,
)
