"""What of a recording a bundle has no room for: it is left out, and said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clonoscope.reading import AttemptLog
from replay.log.determinants import Take
from replay.model.manifest_fields import MAX_PARALLELISM

SUBTASKS_MOST = MAX_PARALLELISM - 1
"""Numbers of subtasks are less than that."""
TASKS_MOST = (1 << 16) - 1  # and one to say it
RECORDS_MOST = (1 << 32) - 1
# Of a run of records, each of which has a line of its own.
LINES_MOST = 1 << 26
NAMES_MOST_BYTES = 8 << 20
UNNAMED = "?"


def too_large(subtask: int) -> str:
    """Why a task is not in the bundle; nothing where it is."""
    return "" if subtask < SUBTASKS_MOST else f"a bundle numbers subtasks up to {SUBTASKS_MOST - 1:,}"


def fitting(attempts: Sequence[AttemptLog]) -> tuple[list[AttemptLog], list[str]]:
    """Those that a bundle can name, and what is to be said of the others."""
    tasks: set[str] = set()
    found: list[AttemptLog] = []
    left: dict[str, dict[str, None]] = {}
    for one in attempts:
        why = too_large(int(one.meta["subtask"]))
        if not why and one.task not in tasks and len(tasks) == TASKS_MOST:
            why = f"a bundle has at most {TASKS_MOST:,} tasks"
        if why:
            left.setdefault(why, {})[one.task] = None
        else:
            tasks.add(one.task)
            found.append(one)
    return found, [_said(list(names), why) for why, names in left.items()]


def _said(names: list[str], why: str) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"not in this bundle, as {why}: {', '.join(names[:3])}{more}"


def takes(channel: int, first: int, records: int) -> Iterator[Take]:
    """A run of records, as determinants that can count it."""
    for begun in range(0, records, RECORDS_MOST):
        yield Take(channel, first + begun, min(records - begun, RECORDS_MOST))


class Names:
    """The names of inputs that a manifest has room for."""

    def __init__(self) -> None:
        self._left_bytes = NAMES_MOST_BYTES

    def of(self, partitions: Sequence[str]) -> tuple[str, ...]:
        """As they stand in the manifest."""
        return tuple(name if self._holds(name) else UNNAMED for name in partitions)

    def _holds(self, name: str) -> bool:
        self._left_bytes -= len(name.encode()) + 3
        return self._left_bytes >= 0
