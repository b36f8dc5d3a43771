"""What a bundle holds of one attempt: its epochs, the records it took, what it gave, how it ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clonoscope.errors import WrongUse
from clonoscope.recording import OUTSIDE
from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.bundle.reader import Bundle
from replay.bundle.whole_records import WholeRecords
from replay.errors import ReplayError, printable
from replay.model import MAIN

_PLACE = re.compile(r"(.*)\[(\d{1,18})\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record was taken from."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{printable(self.topic)}[{self.partition}]@{self.offset}"


@dataclass(slots=True)
class Held:
    """`ended`: the epochs whose end is recorded. `failed`: what ended the attempt, as it was told;
    `raised`: the same, where it was an exception."""

    bundle: Bundle
    task: str
    attempt: int
    epochs: tuple[int, ...] = ()
    ended: set[int] = field(default_factory=set)
    failed: str | None = None
    raised: str | None = None
    gaps: int = 0
    started: tuple[str, ...] = ()
    start_us: int = 0

    @classmethod
    def of(cls, bundle: Bundle, task: str, attempt: int) -> Held:
        """Raises `ReplayError` where the recording has nothing of it."""
        found = cls(bundle, task, attempt, bundle.epochs(task, attempt, MAIN))
        if not found.epochs:
            raise ReplayError(
                f"the recording has no log of attempt {attempt} of {printable(task)}",
                path="tasks",
                remedy=f"It has attempts {', '.join(map(str, bundle.attempts(task))) or 'none'} of it",
            )
        for event in bundle.events():
            if (event.get("task"), event.get("attempt")) == (task, attempt):
                found._tell(event)
        return found

    def _tell(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "checkpoint-acknowledged" if type(event.get("checkpoint")) is int:
                self.ended.add(event["checkpoint"] - 1)
            case "task-failed":
                self.failed = str(event.get("cause"))
                self.raised = self.failed if event.get("how") == "failed" else None
            case "gap":
                self.gaps += 1
            case "attempt-started":
                self.started, self.start_us = (f"event:{event['n']}",), event["t_us"]

    def lines(self, folder: str, epoch: int) -> list[dict[str, Any]]:
        """A member's lines; none where there is none."""
        name = member_name(self.task, self.attempt, folder, epoch)
        if folder in ("inputs", "border"):
            name = f"tasks/{self.task}/{self.attempt}/{folder}/{epoch}.ndjson"
        if name not in self.bundle.members:
            return []
        with self.bundle.members.open(name) as stream:
            return [line for _, line in read_lines(stream, name)]

    def outputs(self, epoch: int) -> list[dict[str, Any]]:
        """What it gave away."""
        return self.lines("sink", epoch)

    def state(self, checkpoint: int) -> Any:
        """The operator's state at a checkpoint, whichever attempt told of it last; None where none did."""
        for attempt in reversed(self.bundle.attempts(self.task)):
            snapshot = self.bundle.state(self.task, attempt, checkpoint)
            if attempt <= self.attempt and snapshot is not None:
                return snapshot.get("operator")
        return None

    def place(self, partition: str, offset: int) -> Place:
        """A partition as the manifest names it, taken apart."""
        named = _PLACE.fullmatch(partition)
        if named:
            return Place(named[1], int(named[2]), offset)
        return Place("", int(partition), offset) if partition.isdecimal() else Place(partition, 0, offset)


def whole(bundle: Bundle) -> Bundle:
    """Of a recording that goes on or was broken off: up to the last record that is there as a whole."""
    return bundle if bundle.manifest.complete else Bundle(WholeRecords(bundle.members))


def chosen_task(bundle: Bundle, name: str | None) -> str:
    """A task by its id, or by its vertex where that has one; without a name the only one, or the only that failed."""
    ids = [str(one) for one in bundle.tasks() if one.partition(".")[0] != OUTSIDE and bundle.attempts(one)]
    if name is not None:
        found = [one for one in ids if name in (one, one.rpartition(".")[0])]
    else:
        failed = {str(one.get("task")) for one in bundle.events() if _is_failure(one)}
        found = ids if len(ids) == 1 else [one for one in ids if one in failed]
    if len(found) != 1:
        which = "names no single task" if name is not None else "has to name one of several tasks"
        raise WrongUse(f"--task {which}", remedy=f"The recording's tasks are {', '.join(ids) or 'none'}")
    return found[0]


def chosen_attempt(bundle: Bundle, task: str, attempt: int | None) -> int:
    """The one that is named; else the last that failed, or the last."""
    known = bundle.attempts(task)
    if attempt is not None:
        if attempt not in known:
            raise WrongUse(f"{task} has no attempt {attempt}", remedy=f"It has {', '.join(map(str, known)) or 'none'}")
        return attempt
    failed = [
        one["attempt"]
        for one in bundle.events()
        if _is_failure(one) and one.get("task") == task and one.get("attempt") in known
    ]
    return int(failed[-1]) if failed else known[-1]


def _is_failure(event: Mapping[str, Any]) -> bool:
    """Whether an attempt ended by itself, and not because its epoch was begun once more."""
    return event["type"] == "task-failed" and event.get("how") != "superseded"
