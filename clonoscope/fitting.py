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
MEMBERS_MOST = 1_900_000  # and those that are no task's
# Of one epoch: determinants, records, hashes, outputs, a border and a state.
_MEMBERS_OF_AN_EPOCH = 6
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


class TooManyMembers(Exception):
    """Of all epochs a bundle has no room."""


def first_epochs(attempts: Sequence[AttemptLog]) -> dict[str, int]:
    """Of each task that has more epochs than there is room for, the first that is in the bundle: the last ones stay,
    and of tasks that have few, all."""
    found: dict[str, list[int]] = {}
    for log in attempts:
        found.setdefault(log.task, []).extend(one.epoch or 0 for one in log.entries() if one.kind == "epoch")
    left, tasks = MEMBERS_MOST // _MEMBERS_OF_AN_EPOCH, len(found)
    first: dict[str, int] = {}
    for task, epochs in sorted(found.items(), key=lambda one: len(one[1])):
        most = max(left // tasks, 1)
        if len(epochs) > most:
            *_, before, begins = (epochs := sorted(epochs))[: len(epochs) - most + 1]
            # One that was executed several times is there each time, or not at all.
            later = (one for one in epochs if one > begins)
            first[task] = next(later, begins) if before == begins else begins
        left, tasks = left - min(len(epochs), most), tasks - 1
    return first


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
