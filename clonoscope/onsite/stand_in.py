"""Stands for a recording while a job's function is replayed: it records nothing, and hands on what the job gives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from clonoscope import recording
from clonoscope.onsite.border import Border
from clonoscope.onsite.messages import readable

Given = Callable[[Any, str | None, FrameType | None], None]
"""(record, id, the job's frame)"""


class StandInTask:
    """As `clonoscope.Task`: epochs and records come from the replay, outputs go to it."""

    attempt: int | None = None
    border: Border | None = None
    """What adapters of engines go along, if there is any."""

    def __init__(self, task: str, given: Given, doubt: Callable[[str], None] | None = None):
        self.doubt = doubt or _nothing
        self.id = task
        self.vertex, _, subtask = task.rpartition(".")
        self.subtask = int(subtask)
        self.given = given

    def output(
        self,
        record: Any,
        *,
        id: str | None = None,  # noqa: A002 - as `Task.output` has it
        source: Sequence[tuple[str, int]] | None = None,
        of: int | None = None,
        topic: str = "",
    ) -> None:
        """Is held against what was recorded."""
        self.given(record, id, sys._getframe(1))

    def message(
        self,
        topic: str,
        key: Any,
        value: Any,
        *,
        timestamp: int = 0,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """As an output."""
        self.given([readable(key), timestamp, readable(value)], id, sys._getframe(1))

    def records(self, found: Iterable[Any], first: int, *, topic: str = "", partition: int = 0) -> Iterator[Any]:
        """As they come."""
        return iter(found)

    def at_work(self) -> AbstractContextManager[StandInTask]:
        """The replay is."""
        return nullcontext(self)

    def epoch(self, number: int) -> AbstractContextManager[StandInTask]:
        """The replay is in one."""
        return nullcontext(self)

    def __getattr__(self, name: str) -> Any:
        """What else there is to tell a recording (`take`, `state`, `event`, …) is told to nobody."""
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing


class StandIn:
    """As `clonoscope.Recording`."""

    def __init__(self, name: str, task: str, given: Given):
        self.name = name
        self.folder = Path()
        self.faults: list[str] = []
        self.payload = "none"
        self._task, self._given = task, given

    def task(self, vertex: str, subtask: int = 0, *, operator: str = "") -> StandInTask:
        """Whichever is asked for: there is one."""
        return StandInTask(self._task, self._given)

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was begun."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    """Where a recording would be told."""


@contextmanager
def standing_in(task: str, given: Given, doubt: Callable[[str], None]) -> Iterator[StandInTask]:
    """Whoever calls `clonoscope.start` meanwhile, as modules do when they are imported, gets a stand-in."""
    recording.stand_ins.append(lambda name: StandIn(name, task, given))
    try:
        yield StandInTask(task, given, doubt)
    finally:
        recording.stand_ins.pop()
