"""Which lines chose otherwise when an epoch ran again: of every task, the first choice that is not the same."""

from __future__ import annotations

from typing import Any

from replay.debugger.ports import RecordingSource
from replay.debugger.sides.logs_alone import differing_choice
from replay.errors import ReplayError
from replay.model import MAIN

MOST_TASKS = 8


def differing_choices(source: RecordingSource, epoch: int) -> list[dict[str, Any]]:
    """Of each task the first, with the line that asked and what both executions were told."""
    found: list[dict[str, Any]] = []
    for task in source.manifest.tasks:
        those = [one for one in source.attempts(task.id) if epoch in source.epochs(task.id, one, MAIN)]
        if len(those) > 1:
            found += _of_task(source, task.id, (those[0], those[-1]), epoch)
        if len(found) == MOST_TASKS:
            break
    return found


def _of_task(source: RecordingSource, task: str, attempts: tuple[int, int], epoch: int) -> list[dict[str, Any]]:
    try:
        one = differing_choice(source, task, attempts, epoch)
    except ReplayError:
        return []  # what can't be read was named where it was read first
    if one is None or one.first is None or one.second is None:
        return []
    place = {"task": task, "epoch": epoch, "attempts": list(attempts), "line": one.first.line}
    return [{**place, "said": [one.first.said, one.second.said]}]
