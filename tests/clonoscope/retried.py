"""Epochs that are executed once more, and what their logs tell of it."""

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clonoscope
from clonoscope.reading import attempts_of
from tests.clonoscope.recorded import recording


class Broken(Exception):
    """What an attempt ends with."""


def told_in(folder: Path, task: str = "p.0") -> list[dict[str, Any]]:
    """How taking ended, attempt after attempt."""
    events = (
        entry.fields
        for log in attempts_of(folder / "orders")
        if log.task == task
        for entry in log.entries()
        if entry.kind == "event"
    )
    return [one for one in events if one["type"] == "retry-ended"]


@contextlib.contextmanager
def epoch_of(
    folder: Path, number: int = 0, *, fails: bool = False, task: int = 0, **settings: Any
) -> Iterator[clonoscope.Task]:
    """An epoch in a recording of its own, as that of another process, with one record."""
    with recording(folder, retry="replay", dump_on=(), **settings) as made:
        with contextlib.suppress(Broken), made.task("p", task).epoch(number) as at_work:
            at_work.take(number, topic="in")
            yield at_work
            if fails:
                raise Broken
        assert made.faults == []


def times(count: int) -> list[int]:
    """Asked in one line, whoever asks."""
    return [clonoscope.time_ns() for _ in range(count)]


def chance(_key: int = 0) -> float:
    """A look-up whose answer is never the same."""
    return random.random()
