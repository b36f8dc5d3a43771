"""A source: has each of its records been read once by the executions that count?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.flows import Counted


@dataclass(slots=True)
class Reads:
    """Of one task. `read`: in which attempt and epoch each of its records was read by an execution that counts;
    `ever`: where it was read first, by whichever attempt."""

    task: str
    read: dict[int, tuple[int, int]] = field(default_factory=dict)
    ever: dict[int, tuple[int, int]] = field(default_factory=dict)
    twice: list[Counted] = field(default_factory=list)
    lost: list[Counted] = field(default_factory=list)
    unknown: str = ""


def reads_of(source: RecordingSource, executions: Executions, task: str) -> Reads:
    """Raises where a member of it can't be read."""
    found, path = Reads(task), executions.surviving(task)
    for attempt, epoch, offset in _lines(source, executions, task):
        found.ever.setdefault(offset, (attempt, epoch))
        if not any(one.attempt == attempt and one.has(epoch) for one in path):
            continue
        if offset in found.read:
            names = (f"source:{task}/{one}#{offset}" for one in (found.read[offset][0], attempt))
            found.twice.append(Counted(((task, offset),), tuple(dict.fromkeys(names))))
        found.read[offset] = attempt, epoch
    passed = max(max(found.read, default=-1) + 1, _restored_offset(source, executions, task))
    for offset in sorted(found.ever.keys() - found.read.keys()):
        if offset < passed:  # the others are still to be read again
            found.lost.append(Counted(((task, offset),), (f"source:{task}/{found.ever[offset][0]}#{offset}",)))
    missing = _first_gap(sorted(found.ever))
    if missing < max(passed, max(found.ever, default=0)):
        found.unknown = f"no attempt is recorded to have read record {missing}"
    return found


def _first_gap(offsets: list[int]) -> int:
    """The first number that is not among them."""
    return next((expected for expected, one in enumerate(offsets) if one != expected), len(offsets))


def _restored_offset(source: RecordingSource, executions: Executions, task: str) -> int:
    """Where the last completed checkpoint says that the source goes on."""
    for segment in reversed(executions.surviving(task)):
        state = source.state(task, segment.attempt, executions.last_completed) or {}
        listed = state.get("source")
        if isinstance(listed, Mapping) and type(listed.get("offset")) is int:
            return int(listed["offset"])
    return 0


def _lines(source: RecordingSource, executions: Executions, task: str) -> Iterator[tuple[int, int, int]]:
    """(attempt, epoch, offset)."""
    for attempt in executions.attempts(task):
        for epoch in source.epochs(task, attempt, "source"):
            path = member_name(task, attempt, "source", epoch)
            with source.members.open(path) as stream:
                for _, line in read_lines(stream, path):
                    if type(line.get("offset")) is int:
                        yield attempt, epoch, line["offset"]
