"""Which tasks' records are those that the sources had."""

from __future__ import annotations

from collections.abc import Iterable

from replay.debugger.ports import RecordingSource
from replay.errors import WrongSetting, printable
from replay.guarantees.outside.mapping import How


def source_tasks(source: RecordingSource, how: How) -> list[str]:
    """Whose records count: those named, else those of vertices that give to the outside themselves, else all that have
    records.

    Raises `WrongSetting` where that can't be told.
    """
    tasks: dict[str, str] = {task.id: task.vertex for task in source.manifest.tasks}
    having = [one for one in tasks if has(source, one, "source")]
    if how.source:
        unknown = set(how.source) - {*tasks, *tasks.values()}
        if unknown:
            raise WrongSetting(f"the recording has no vertex {printable(min(unknown))}", remedy=_named(tasks.values()))
        return [one for one in having if one in how.source or tasks[one] in how.source]
    giving = {tasks[one] for one in tasks if has(source, one, "sink")}
    chosen = [one for one in having if tasks[one] in giving] or having
    kinds = {one.id: one.kind for one in source.manifest.vertices}
    vertices = {tasks[one] for one in chosen}
    if len(vertices) > 1 and any(kinds.get(one) != "source" for one in vertices):
        raise WrongSetting(
            "records of several vertices are recorded, and whose rows the outside holds isn't said",
            remedy=_named(vertices),
        )
    return chosen


def _named(vertices: Iterable[str]) -> str:
    return f"Name it with --source: {', '.join(printable(one) for one in sorted(set(vertices))[:20])}"


def has(source: RecordingSource, task: str, folder: str) -> bool:
    """Whether any attempt has members of that folder."""
    return any(source.epochs(task, attempt, folder) for attempt in source.attempts(task))
