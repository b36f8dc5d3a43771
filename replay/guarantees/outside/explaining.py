"""What the job itself says of a record whose rows are not what they should be: help to understand, and no proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable

MOST_LINES = 8
Record = tuple[str, int]
"""A task, and which of its records."""


class Line(NamedTuple):
    """A line of `sink/`."""

    task: str
    attempt: int
    epoch: int
    n: Any

    @property
    def evidence(self) -> str:
        """As a cause is named."""
        return f"sink:{self.task}/{self.attempt}/{self.epoch}#{self.n}"


Lines = Mapping[Record, list[Line]]


def given(source: RecordingSource, wanted: set[Record]) -> Lines:
    """By record, the lines of sinks that say that they are of it."""
    found: dict[Record, list[Line]] = {one: [] for one in wanted}
    if wanted:
        for line, of in _lines(source):
            for record in of:
                if record in found and len(found[record]) < MOST_LINES:
                    found[record].append(line)
    return found


def _lines(source: RecordingSource) -> Iterator[tuple[Line, list[Record]]]:
    for task in source.manifest.tasks:
        for attempt in source.attempts(task.id):
            for epoch in source.epochs(task.id, attempt, "sink"):
                name = member_name(task.id, attempt, "sink", epoch)
                try:
                    with source.members.open(name) as stream:
                        for _, line in read_lines(stream, name):
                            yield Line(task.id, attempt, epoch, line.get("n")), _records(line.get("source"))
                except ReplayError:
                    continue  # the verdict does not rest on it


def _records(lineage: Any) -> list[Record]:
    if not isinstance(lineage, list):
        return []
    pairs = (one for one in lineage if isinstance(one, list) and len(one) == 2)
    return [(task, number) for task, number in pairs if isinstance(task, str) and type(number) is int]


def in_words(lines: list[Line]) -> str:
    """Who says that the outside was given it."""
    if not lines:
        return "no line of the job says that it was given"
    attempts = sorted({(one.task, one.attempt) for one in lines})
    named = ", ".join(f"attempt {attempt} of {printable(task)}" for task, attempt in attempts)
    return f"the job says that it was given by {named}" + ("" if len(lines) == 1 else f", in {len(lines)} lines")
