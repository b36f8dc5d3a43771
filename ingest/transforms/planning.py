"""Plans an ingest: which members belong together, which can't be placed, and parts of equal size in table order."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from ingest.transforms.channels import ChannelUnit
from ingest.transforms.decoding.pieces import MAIN_OUTPUT, Pieces
from ingest.transforms.outside import LinesUnit
from ingest.transforms.places import Reject
from replay.bundle.members import EVENTS, MemberName, looks_like_task_member, parse_member
from replay.model import Graph, Task

Family = Literal["logs", "channels", "lines"]

SMALL_BYTES = 4 << 20
PART_BYTES = 16 << 20
LONG = 1.5
"""So many times a part's size, a log is cut."""
MOST_PIECES = 1 << 16


class Members(Protocol):
    """What planning asks of a pack."""

    def extents(self) -> Iterator[tuple[str, int, int]]: ...


@dataclass(frozen=True, slots=True)
class EventsUnit:
    """The events of the job."""

    path: str


Unit = ChannelUnit | LinesUnit | EventsUnit


@dataclass(frozen=True, slots=True)
class Part:
    """What one Spark task reads, in order, and writes as files of its own: units, or pieces of logs."""

    family: Family
    number: int
    bytes: int
    units: tuple[Unit, ...] = ()
    pieces: Pieces | None = None


@dataclass(slots=True)
class Plan:
    """Parts of equal size. Logs that are longer than a part must be cut first, and to know where, they must be read."""

    logs: Pieces
    tasks: tuple[str, ...]
    """The names of tasks by the numbers that `logs` has for them."""
    limit: int
    others: list[Part] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    attempts: dict[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return self.logs.bytes + sum(part.bytes for part in self.others)

    @property
    def long_logs(self) -> list[int]:
        """The logs to be cut, by number."""
        return [int(n) for n in np.flatnonzero(self.logs.size > LONG * self.limit)]

    def parts(self, cuts: Mapping[int, Sequence[tuple[int, int]]]) -> list[Part]:
        """All parts; `cuts`: where each of the long logs is cut."""
        pieces, last = list[Pieces](), 0
        for n, those in sorted(cuts.items()):
            pieces += [self.logs.some(slice(last, n)), self.logs.some(slice(n, n + 1)).cut(those)]
            last = n + 1
        every = Pieces.joined([*pieces, self.logs.some(slice(last, None))])
        return [*self.others, *_parts_of_logs(every, self.limit)]


def _parts_of_logs(pieces: Pieces, limit: int) -> list[Part]:
    """Runs of pieces with about as many bytes each."""
    parts = max(1, -(-pieces.bytes // limit))
    goal = pieces.bytes / parts or 1
    which = np.minimum((np.cumsum(pieces.size) - pieces.size / 2) // goal, parts - 1)
    starts = np.flatnonzero(np.diff(which, prepend=-1))
    found = list[Part]()
    for start, end in itertools.pairwise([*starts, len(pieces)]):
        for first in range(int(start), int(end), MOST_PIECES):
            some = pieces.some(slice(first, min(first + MOST_PIECES, int(end))))
            found.append(Part("logs", len(found), some.bytes, pieces=some))
    return found


def plan_ingest(members: Members, graph: Graph, *, part_bytes: int | None = None) -> Plan:
    """One part per family for small jobs, so that each table is one file; equal parts for the others."""
    sorting = sorted_members(members, graph)
    return plan_of(sorting, sorting.logs(), sorting.channel_units(), sorting.line_units(), part_bytes=part_bytes)


def sorted_members(members: Members, graph: Graph) -> Sorting:
    """Every member where it belongs."""
    sorting = Sorting(graph)
    for name, begin, size in members.extents():
        sorting.place(parse_member(name), begin, size)
    return sorting


def plan_of(
    sorting: Sorting,
    logs: Pieces,
    channels: Sequence[ChannelUnit],
    lines: Sequence[EventsUnit | LinesUnit],
    *,
    part_bytes: int | None = None,
) -> Plan:
    """The plan of these alone."""
    families: list[tuple[Family, list[tuple[Unit, int]]]] = [
        ("channels", [(unit, unit.bytes) for unit in channels]),
        ("lines", [(unit, sorting.sizes[unit.path]) for unit in lines]),
    ]
    total = logs.bytes + sum(size for _, units in families for _, size in units)
    limit = part_bytes or (total + 1 if total <= SMALL_BYTES else PART_BYTES)
    plan = Plan(logs, sorting.tasks, limit, rejects=sorting.rejects(), attempts=sorting.attempts)
    for family, units in families:
        plan.others += [
            Part(family, number, sum(size for _, size in some), tuple(unit for unit, _ in some))
            for number, some in enumerate(_equal_parts(units, limit))
        ]
    return plan


def _equal_parts(units: list[tuple[Unit, int]], limit: int) -> Iterator[list[tuple[Unit, int]]]:
    """Runs of units of about the same size, none above the limit unless a single unit is."""
    total = sum(size for _, size in units)
    goal = total / max(1, -(-total // limit))
    part: list[tuple[Unit, int]] = []
    part_bytes = 0
    for unit, size in units:
        if part and part_bytes + size / 2 > goal:
            yield part
            part, part_bytes = [], 0
        part.append((unit, size))
        part_bytes += size
    if part:
        yield part


class Sorting:
    """Puts each member where it belongs; what the manifest has no place for is counted by reason."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.attempts: dict[str, int] = {}
        self.tasks = tuple(sorted(task.id for task in graph.tasks))
        self.sizes: dict[str, int] = {}
        """Of members that are read line by line."""
        self._number = {task: n for n, task in enumerate(self.tasks)}
        self._logs = tuple(array("q") for _ in range(6))
        self._lines: list[LinesUnit] = []
        self._events: list[EventsUnit] = []
        self._channels: dict[str, ChannelUnit] = {}
        self._misplaced: dict[str, tuple[str, int]] = {}

    def place(self, member: MemberName, begin: int, size: int) -> None:
        if member.kind == "events":
            self._events.append(EventsUnit(EVENTS))
            self.sizes[EVENTS] = size
        elif member.task is not None and member.attempt is not None:
            if member.task not in self.graph:
                self._misplace(f"the manifest names no task {member.task}", member.name)
            else:
                self._place(member, self.graph.task(member.task), member.attempt, member.epoch or 0, (begin, size))
        elif looks_like_task_member(member.name):
            self._misplace("the name holds a number that is not plain decimal, or too large", member.name)

    def _place(self, member: MemberName, task: Task, attempt: int, epoch: int, extent: tuple[int, int]) -> None:
        self.attempts[task.id] = max(self.attempts.get(task.id, 0), attempt + 1)
        match member.kind:
            case "det" if member.thread is not None:
                if member.index is None or self._has(member, task, "output"):
                    output = MAIN_OUTPUT if member.index is None else member.index
                    for column, value in zip(
                        self._logs, (self._number[task.id], attempt, output, epoch, *extent), strict=True
                    ):
                        column.append(value)
                    if member.index is not None:
                        self._output(task, member.index).det.add(member, extent[1])
            case "buf" | "dlt" if self._has(member, task, "output"):
                unit = self._output(task, member.index or 0)
                (unit.buf if member.kind == "buf" else unit.dlt).add(member, extent[1])
            case "rcv" if self._has(member, task, "input"):
                self._input(task, member.index or 0).rcv.add(member, extent[1])
            case "world":
                self._world(task).dlt.add(member, extent[1])
            case "source" | "sink" | "sites":
                table = member.kind if member.kind == "sites" else f"{member.kind}s"
                self._lines.append(LinesUnit(table, task.id, attempt, epoch, member.name))
                self.sizes[member.name] = extent[1]
            case _:
                pass  # the manifest and states have no table

    def _has(self, member: MemberName, task: Task, side: str) -> bool:
        count = len(task.outputs if side == "output" else task.inputs)
        if member.index is not None and member.index < count:
            return True
        self._misplace(f"the manifest gives task {task.id} no {side} channel {member.index}", member.name)
        return False

    def _misplace(self, why: str, path: str) -> None:
        first, count = self._misplaced.get(why, (path, 0))
        self._misplaced[why] = (first, count + 1)

    def rejects(self) -> list[Reject]:
        """One per reason, whatever the number of members: a hostile bundle has millions."""
        found = []
        for why, (path, count) in self._misplaced.items():
            more = f" So it is with {count - 1} more members." if count > 1 else ""
            found.append(Reject(path, None, f"{why}. The member is left out.{more}"))
        return found

    def _output(self, task: Task, k: int) -> ChannelUnit:
        channel = self.graph.channel(task.outputs[k].channel)
        return self._channel(ChannelUnit(channel.id, channel.source, channel.k, channel.target))

    def _input(self, task: Task, i: int) -> ChannelUnit:
        channel = self.graph.channel(task.inputs[i])
        return self._channel(ChannelUnit(channel.id, channel.source, channel.k, channel.target))

    def _world(self, task: Task) -> ChannelUnit:
        return self._channel(ChannelUnit(f"{task.id}>world", task.id, None, None))

    def _channel(self, new: ChannelUnit) -> ChannelUnit:
        return self._channels.setdefault(new.channel, new)

    def logs(self) -> Pieces:
        return Pieces.of(np.array(self._logs, dtype=np.int64))

    def channel_units(self) -> list[ChannelUnit]:
        return [unit for _, unit in sorted(self._channels.items()) if any(unit.read)]

    def line_units(self) -> list[EventsUnit | LinesUnit]:
        lines = sorted(self._lines, key=lambda u: (u.table, u.task, u.attempt, u.epoch))
        return [*self._events, *lines]
