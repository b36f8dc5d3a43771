"""What an operator read past its context: each place in its source once, with how often and where it began."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.diverging.source_line import source_name

KINDS = {
    "clock": "the wall clock, or another",
    "random": "chance",
    "environment": "the environment's variables",
    "files": "files and folders",
    "network": "the network",
    "machine": "the machine and its processes",
    "identity": "where an object lies in memory, or a hash that changes from process to process",
    "threads": "threads, which run when they like",
}
"""What can be read past the context, and what that is."""

MOST_PLACES = 200
_MOST_DETAILS = 3
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a replay stands: before the first record of an attempt `call` says what the operator is asked to do."""

    call: str
    epoch: int = 0
    record_count: int = 0
    step: int | None = None
    task: str = ""


@dataclass(slots=True)
class Reading:
    """One call from one line of the operator's. `through`: the library's line that made it on the operator's behalf."""

    kind: str
    call: str
    file: str
    line: int
    through: str
    first: Moment
    count: int = 0
    details: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        return {
            "kind": self.kind,
            "call": self.call,
            "file": source_name(self.file),
            "line": self.line,
            "source": linecache.getline(self.file, self.line).strip()[:_SHOWN],
            "through": self.through,
            "count": self.count,
            "task": self.first.task,
            "during": self.first.call,
            "epoch": self.first.epoch,
            "record": self.first.record_count,
            "step": self.first.step,
            "details": self.details,
        }


class Readings:
    """All of them, by place and call, in the order in which they first happened."""

    def __init__(self) -> None:
        self._by_place: dict[tuple[str, str, int], Reading] = {}
        self.left_out = 0

    def __len__(self) -> int:
        return len(self._by_place)

    def note(self, kind: str, call: str, place: tuple[str, int], through: str, moment: Moment, detail: str) -> None:
        """It happened once more."""
        key = (call, *place)
        found = self._by_place.get(key)
        if found is None:
            if len(self._by_place) >= MOST_PLACES:
                self.left_out += 1
                return
            found = self._by_place[key] = Reading(kind, call, *place, through, moment)
        found.count += 1
        detail = detail[:_SHOWN]
        if detail and detail not in found.details and len(found.details) < _MOST_DETAILS:
            found.details.append(detail)

    def to_json(self) -> list[dict[str, Any]]:
        """As reports hold them."""
        return [one.to_json() for one in self._by_place.values()]
