"""Of a recording that still grows: which epochs are over, and so which units of work need never be done again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingest.transforms.channels import ChannelUnit, Standing
from ingest.transforms.outside import LinesUnit
from ingest.transforms.planning import EventsUnit, Plan, Sorting, plan_of

LATER_ATTEMPTS = 2
"""So many must have begun before an attempt is taken to be over: one that is only suspected to have failed goes on."""
NEVER = 1 << 63
"""An epoch behind all others."""


@dataclass(frozen=True, slots=True)
class Done:
    """What was read before: members of logs and of lines, and of channels all before an epoch."""

    members: frozenset[str]
    upto: Mapping[str, int]
    standing: Mapping[str, dict[int, Standing]]


class Units:
    """What there is to do for a whole recording, and which of it is settled."""

    def __init__(self, sorting: Sorting) -> None:
        self.sorting = sorting
        self.logs = sorting.logs()
        self.channels = sorting.channel_units()
        self.lines = sorting.line_units()
        self.log_names = [self.logs.path(n, sorting.tasks) for n in range(len(self.logs))]
        self._over = self._logs_over()
        self._lines_over = self._last_lines()

    @property
    def whole(self) -> Plan:
        """The plan of everything."""
        return plan_of(self.sorting, self.logs, self.channels, self.lines)

    def settled(self, done: Done) -> Plan:
        """The plan of what is over and was not read before."""
        fresh = self._over & self._not_in(done)
        lines = [unit for unit in self.lines if self._is_over(unit) and unit.path not in done.members]
        return plan_of(self.sorting, self.logs.some(fresh), list(self._channels(done, settled_upto)), lines)

    def rest(self, done: Done) -> Plan:
        """The plan of all that was not read before."""
        lines = [unit for unit in self.lines if unit.path not in done.members]
        channels = list(self._channels(done, lambda unit: NEVER))
        return plan_of(self.sorting, self.logs.some(self._not_in(done)), channels, lines)

    def _not_in(self, done: Done) -> Any:
        return np.array([name not in done.members for name in self.log_names], dtype=np.bool_)

    def _logs_over(self) -> Any:
        """Where the thread has begun a later epoch, or its task was begun anew twice: no more comes."""
        logs, tasks, attempts = self.logs, self.sorting.tasks, self.sorting.attempts
        newest = np.array([attempts.get(task, 0) for task in tasks], dtype=np.int64)
        over = logs.attempt + LATER_ATTEMPTS < newest[logs.task] if len(logs) else np.zeros(0, np.bool_)
        if len(logs) > 1:  # they are in order of task, attempt, thread and epoch
            same = [one[1:] == one[:-1] for one in (logs.task, logs.attempt, logs.output)]
            over[:-1] |= np.logical_and.reduce(same)
        return over

    def _last_lines(self) -> dict[tuple[str, str, int], int]:
        last: dict[tuple[str, str, int], int] = {}
        for unit in self.lines:
            if isinstance(unit, LinesUnit):
                key = unit.table, unit.task, unit.attempt
                last[key] = max(last.get(key, 0), unit.epoch)
        return last

    def _is_over(self, unit: EventsUnit | LinesUnit) -> bool:
        """Events and sites are of no epoch."""
        if isinstance(unit, EventsUnit) or unit.table == "sites":
            return False
        newest = self.sorting.attempts.get(unit.task, 0)
        return unit.attempt + LATER_ATTEMPTS < newest or unit.epoch < self._lines_over_of(unit)

    def _lines_over_of(self, unit: LinesUnit) -> int:
        return self._lines_over[unit.table, unit.task, unit.attempt]

    def _channels(self, done: Done, upto: Any) -> Iterator[ChannelUnit]:
        for unit in self.channels:
            some = epochs_of(unit, done.upto.get(unit.channel, 0), upto(unit), done.standing.get(unit.channel, {}))
            if any(some.read):
                yield some


def settled_upto(unit: ChannelUnit) -> int:
    """The first epoch that a channel's sender or its receiver is still in. What a sink leaves with the world outside is
    read as a whole: what the world holds outlives attempts."""
    sent = {*unit.buf.epochs, *unit.dlt.epochs}
    return min(max(sent), max(unit.rcv.epochs)) if sent and unit.rcv and not unit.to_world else 0


def epochs_of(unit: ChannelUnit, begin: int, end: int, begun: dict[int, Standing]) -> ChannelUnit:
    """A channel's members of the epochs from `begin` on and before `end`."""
    buf, dlt, det, rcv = (members.between(begin, end) for members in (unit.buf, unit.dlt, unit.det, unit.rcv))
    return ChannelUnit(unit.channel, unit.source, unit.k, unit.target, buf, dlt, det, rcv, begun)


def members_of(unit: ChannelUnit) -> Iterator[tuple[int, str]]:
    """All that the reading of a channel depends on, with its epoch."""
    for members in (unit.buf, unit.dlt, unit.det, unit.rcv):
        yield from zip(members.epochs, members.paths(), strict=True)


def names_of(plan: Plan, tasks: Sequence[str]) -> tuple[list[str], list[ChannelUnit]]:
    """Of a plan, the members of logs and lines that it reads, and its channels."""
    units = [unit for part in plan.others for unit in part.units]
    lines = [unit.path for unit in units if not isinstance(unit, ChannelUnit)]
    logs = [plan.logs.path(n, tasks) for n in range(len(plan.logs))]
    return [*logs, *lines], [unit for unit in units if isinstance(unit, ChannelUnit)]
