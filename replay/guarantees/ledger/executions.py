"""Which executions of a task count in the end: of every attempt the part that a later one did not undo."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError


class Segment(NamedTuple):
    """What an attempt did in epochs from `begins` up to, and without, `ends`; None: to its end."""

    attempt: int
    begins: int
    ends: int | None

    def has(self, epoch: int) -> bool:
        """Whether an epoch lies in it."""
        return self.begins <= epoch and (self.ends is None or epoch < self.ends)


Path = tuple[Segment, ...]
"""The executions that led to the state of an attempt, from the initial state on."""


@dataclass(slots=True)
class Executions:
    """What events say of attempts and checkpoints. `broken`: snapshots that were restored, and that nobody took."""

    source: RecordingSource
    story: Story
    completed: list[int] = field(default_factory=list)
    gaps: list[Mapping[str, Any]] = field(default_factory=list)
    ends: list[Mapping[str, Any]] = field(default_factory=list)
    acknowledged: set[tuple[str, int, int]] = field(default_factory=set)
    """(task, attempt, checkpoint) of snapshots that were taken, as events tell."""
    counted: Counter[tuple[str, int]] = field(default_factory=Counter)
    """How many records an attempt had processed by its last metric; by (task, attempt)."""
    lost: dict[tuple[str, str, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    """When a channel was lost: by channel, and by which attempt of which of its tasks."""
    broken: list[tuple[str, int, int]] = field(default_factory=list)
    _took: dict[tuple[str, int], set[int]] = field(default_factory=dict)
    _paths: dict[tuple[str, int], Path] = field(default_factory=dict)

    @classmethod
    def read(cls, source: RecordingSource) -> Executions:
        """All events, once more than the story."""
        found = cls(source, Story.read(source.events()))
        try:
            found._take(source.events())
        except ReplayError:
            pass  # the story says that they can't be read to their end
        return found

    def _take(self, events: Iterable[Mapping[str, Any]]) -> None:
        acknowledged: dict[int, set[tuple[str, int]]] = {}
        for event in events:
            kind, checkpoint = event.get("type"), event.get("checkpoint")
            if kind == "gap":
                self.gaps.append(event)
            elif kind in ("epoch-precommitted", "epoch-committed", "epoch-aborted"):
                self.ends.append(event)
            elif kind == "metric":
                self._take_metric(event)
            elif kind == "channel-lost":
                self._take_loss(event)
            elif not isinstance(checkpoint, int):
                continue
            elif kind == "checkpoint-acknowledged" and isinstance(event.get("attempt"), int):
                acknowledged.setdefault(checkpoint, set()).add((str(event.get("task")), event["attempt"]))
                self.acknowledged.add((str(event.get("task")), event["attempt"], checkpoint))
            elif kind == "checkpoint-completed":
                self.completed.append(checkpoint)
                # Later ones are of attempts that were fenced: they say so in vain.
                for task, attempt in acknowledged.pop(checkpoint, ()):
                    self._took.setdefault((task, checkpoint), set()).add(attempt)

    def _take_metric(self, event: Mapping[str, Any]) -> None:
        """Each counts on from the one before it of that attempt; the first of an attempt counts from its beginning."""
        attempt, records = event.get("attempt"), event.get("records_in")
        if type(attempt) is int and type(records) is int and records > 0:
            self.counted[str(event.get("task")), attempt] += records

    def _take_loss(self, event: Mapping[str, Any]) -> None:
        attempt, t_us = event.get("attempt"), event.get("t_us")
        if type(attempt) is int and type(t_us) is int:
            self.lost[str(event.get("channel")), str(event.get("at")), attempt].append(t_us)

    @property
    def last_completed(self) -> int:
        """The last checkpoint that completed; 0, the initial state, where none did."""
        return max(self.completed, default=0)

    def attempts(self, task: str) -> list[int]:
        """All that events or members tell of."""
        return sorted({*self.story.attempts(task), *self.source.attempts(task)})

    def surviving(self, task: str) -> Path:
        """The executions that led to the state that the task ended with."""
        return self.path(task, max(self.attempts(task), default=0))

    def path(self, task: str, attempt: int) -> Path:
        """The executions that led to the state that an attempt ended with."""
        if (task, attempt) not in self._paths:
            self._paths[task, attempt] = self._path(task, attempt)
        return self._paths[task, attempt]

    def _path(self, task: str, attempt: int) -> Path:
        found: list[Segment] = []
        ends: int | None = None
        while True:
            begins = self.story.checkpoint_of(task, attempt)
            found.append(Segment(attempt, begins, ends))
            if begins <= 0:
                return tuple(reversed(found))
            before = self._taker(task, begins, attempt)
            if before is None:
                self.broken.append((task, attempt, begins))
                return tuple(reversed(found))
            attempt, ends = before, begins

    def _taker(self, task: str, checkpoint: int, before: int) -> int | None:
        """Whose snapshot an attempt restored."""
        took = {one for one in self._took.get((task, checkpoint), ()) if one < before}
        if not took:
            took = {
                one for one in self.source.attempts(task) if one < before and self._has_state(task, one, checkpoint)
            }
        return max(took, default=None)

    def _has_state(self, task: str, attempt: int, checkpoint: int) -> bool:
        return checkpoint in self.source.epochs(task, attempt, "state")


def part_at(path: Path, epoch: int) -> Segment | None:
    """The execution of a path that an epoch was in."""
    return next((one for one in path if one.has(epoch)), None)


def in_path(path: Path, attempt: int, epoch: int) -> bool:
    """Whether what an attempt did in an epoch belongs to a path."""
    return any(one.attempt == attempt and one.has(epoch) for one in path)
