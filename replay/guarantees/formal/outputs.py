"""What left: every line that a sink gave, with when the outside could see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.model import TaskId


class Output(NamedTuple):
    """`seen_us` None: its transaction was never committed, so that nobody saw it."""

    task: TaskId
    attempt: int
    epoch: int
    number: Any
    t_us: int
    seen_us: int | None
    line: dict[str, Any]

    @property
    def evidence(self) -> str:
        """As evidence."""
        return f"sink:{self.task}/{self.attempt}/{self.epoch}#{self.number}"


def outputs(source: RecordingSource) -> Iterator[Output]:
    """By task, attempt and epoch, in the order written."""
    committed_us: dict[tuple[Any, Any], int] = {}
    for event in source.events():
        if event.get("type") == "epoch-committed":
            committed_us[str(event.get("task")), str(event.get("txn"))] = event["t_us"]
    for task in source.manifest.tasks:
        for attempt in source.attempts(task.id):
            for epoch in source.epochs(task.id, attempt, "sink"):
                name = member_name(task.id, attempt, "sink", epoch)
                with source.members.open(name) as stream:
                    for _, line in read_lines(stream, name):
                        t_us, txn = line.get("t_us"), line.get("txn")
                        t_us = t_us if type(t_us) is int else 0
                        seen_us = t_us if txn is None else committed_us.get((task.id, str(txn)))
                        yield Output(task.id, attempt, epoch, line.get("n"), t_us, seen_us, line)
