"""What every attempt of every task came to depend on and to hold, from the sources down, some time after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.transforms.growth import kernels
from ingest.transforms.growth.channel_rows import ChannelRows
from ingest.transforms.growth.joining import Joining
from ingest.transforms.growth.lifetimes import Lifetimes
from ingest.transforms.growth.merging import Cursor, Depended, side_by_side
from ingest.transforms.growth.places import Names, Places
from ingest.transforms.growth.relays import Relays
from ingest.transforms.growth.runs import Run, run_of
from ingest.transforms.growth.spool import Spool
from ingest.transforms.growth.windows import FOREVER, Arrivals, Arriving, Input
from replay.model import WORLD, Protocol, channel_id

ROWS_AT_ONCE = 1 << 18


@dataclass(slots=True)
class Growth:
    """The rows of both tables, by run."""

    names: Names
    places: Places
    spool: Spool
    """Where rows lie that are not in memory."""
    holders: list[Run] = field(default_factory=list)
    frontiers: list[Run] = field(default_factory=list)
    gaps: int = 0
    """Deltas that begin behind what their receiver had."""


def grown(
    rows: ChannelRows,
    names: Names,
    lifetimes: Lifetimes,
    protocol: Protocol,
    spool: Spool,
    tell: Callable[[int, int], None],
) -> Growth:
    """Follows all channels; `tell` is told how many rows are done, and of how many. It may raise."""
    places = Places(len(names.logs), rows.epochs, rows.used)
    following = _Following(rows, lifetimes, protocol, spool, Growth(names, places, spool), tell)
    for task in names.graph.order:
        following.follow(task)
    if protocol.logs:
        following.leave_outside()
    return following.found


class _Following:
    """Task by task: what those above came to is there when a task is reached."""

    def __init__(
        self,
        rows: ChannelRows,
        lifetimes: Lifetimes,
        protocol: Protocol,
        spool: Spool,
        found: Growth,
        tell: Callable[[int, int], None],
    ) -> None:
        self.rows, self.lifetimes, self.protocol, self.spool, self.found = rows, lifetimes, protocol, spool, found
        self.names, self.places = found.names, found.places
        self.joining = Joining(rows, self.names, self.places, logged=protocol.logs)
        task_of_place = self.names.task_of_log[self.places.log] if len(self.places) else np.zeros(0, np.int64)
        self.tasks = (task_of_place, self.names.reaches(), *lifetimes.arrays(self.names))
        self.depended: dict[tuple[str, int], Depended] = {}
        self.relays = Relays(spool)
        self.tell, self.done = tell, 0
        self.times = 2 if protocol.logs else 1  # once for what depends on them, once for what they brought
        self.total = self.times * self._sendings(one.id for one in self.names.graph.channels)
        if protocol.logs:
            self.total += self._sendings(one.channel for one in self._outside())

    def follow(self, task: str) -> None:
        """All attempts of one task."""
        graph = self.names.graph
        inputs = tuple(
            Input(one.id, one.source, one.k) for one in (graph.channel(name) for name in graph.task(task).inputs)
        )
        upto = self.done + self.times * self._sendings(one.channel for one in inputs)
        for attempt in self._attempts(inputs):
            self._depend(task, Arrivals(self.rows.sendings, inputs, "taken_us", attempt))
            if self.protocol.logs:
                held = self._hold(
                    self.names.task_number[task], attempt, Arrivals(self.rows.sendings, inputs, "received_us", attempt)
                )
                self.relays.add(task, attempt, held, len(self.places))
        self._tell(upto - self.done)

    def _sendings(self, channels: Iterable[str]) -> int:
        return sum(self.rows.sendings.count(one) for one in channels)

    def _tell(self, more: int) -> None:
        """Of what was never taken there was nothing to follow: it counts when its task is done."""
        self.done += more
        self.tell(self.done, self.total)

    def _attempts(self, inputs: tuple[Input, ...]) -> list[int]:
        """That were sent to."""
        sendings, found = self.rows.sendings, set[int]()
        for one in inputs:
            for _, stretch in sendings.of(one.channel):
                found.update(np.unique(sendings.column("receiver_attempt", stretch)).tolist())
        self.spool.let_go()
        return sorted(found)

    # --- depending ---

    def _depend(self, task: str, arrivals: Arrivals) -> None:
        frontier = np.zeros(len(self.places), np.int64)
        cursors: dict[tuple[str, int], Cursor] = {}
        below = bool(self.names.graph.task(task).outputs)
        attempt = arrivals.receiver or 0
        for low_us, high_us in arrivals.windows(_at_once(len(arrivals), self._merged_by(arrivals))):
            arrived = arrivals.between(low_us, high_us)
            rows = self._depended_in(arrived, cursors, frontier)
            if rows is not None:
                self.found.frontiers.append(run_of(self.names.task_number[task], attempt, rows, self.spool))
                if below:
                    self.depended.setdefault((task, attempt), Depended()).add(rows, self.spool)
            self.spool.let_go()
            self._tell(sum(one.size for one in arrived))

    def _merged_by(self, arrivals: Arrivals) -> int:
        """Rows above, if it takes all of them."""
        sources = [
            (one.source, attempt) for one in arrivals.inputs for attempt in arrivals.sendings.attempts(one.channel)
        ]
        return sum(len(self.depended[one]) for one in sources if one in self.depended)

    def _depended_in(
        self, arrived: list[Arriving], cursors: dict[tuple[str, int], Cursor], frontier: Any
    ) -> tuple[Any, ...] | None:
        if not arrived:
            return None
        cuts = [self.joining.cut(one.input, one.attempt, one.sendings) for one in arrived]
        merged = []
        for one, cut in zip(arrived, cuts, strict=True):
            key = (one.input.channel, one.attempt)
            if key not in cursors:
                cursors[key] = Cursor(self.depended.get((one.input.source, one.attempt)))
            there = cut.cut_us[cut.main >= 0]
            merged.append(cursors[key].upto(int(there.max())) if len(there) else [])
        above, most = side_by_side(merged)
        t_us = _together([one.sendings["taken_us"] for one in arrived])
        order = np.argsort(t_us, kind="stable")  # by input, where it is one microsecond
        run = np.repeat(np.arange(len(arrived)), [one.size for one in arrived])
        cut_us, main, offset, output, built = (_together(column)[order] for column in zip(*cuts, strict=True))
        run = np.where(main < 0, len(arrived), run[order])  # what was not cut brings nothing
        out = _empty(3, 2 * len(t_us) + most)
        count = kernels.depend((t_us[order], run, cut_us, main, offset, output, built), above, frontier, *out)
        return tuple(one[:count] for one in out) if count else None

    # --- holding ---

    def _hold(self, who: int, attempt: int, arrivals: Arrivals) -> list[Run]:
        """The runs that `who` made, a task or the world outside."""
        runs: list[Run] = []
        holding = _Holding(len(self.places), len(self.names.tasks))
        deltas = sum(self.rows.deltas.count(one.channel) for one in arrivals.inputs)
        for low_us, high_us in arrivals.windows(_at_once(len(arrivals), deltas)):
            arrived = arrivals.between(low_us, high_us)
            rows = self._held_in(arrived, arrivals.time, holding)
            if rows is not None:
                runs.append(run_of(who, attempt, rows, self.spool))
            self.spool.let_go()
            self._tell(sum(one.size for one in arrived))
        self.found.holders += runs
        return runs

    def _held_in(self, arrived: list[Arriving], time: str, holding: _Holding) -> tuple[Any, ...] | None:
        if not arrived:
            return None
        carried = [self.joining.carried(one.input.channel, one.attempt, one.sendings) for one in arrived]
        sizes = [one.size for one in arrived]
        bases = np.cumsum([0, *(len(one.place) for one in carried)])[:-1]
        first = _together([one.first + base for one, base in zip(carried, bases, strict=True)])
        last = _together([one.last + base for one, base in zip(carried, bases, strict=True)])
        received, sent = (_together([one.sendings[name] for one in arrived]) for name in (time, "sent_us"))
        source = np.repeat([self.names.task_number[one.input.source] for one in arrived], sizes)
        sender = np.repeat([one.attempt for one in arrived], sizes)
        run = np.repeat(np.arange(len(arrived)), sizes)
        order = np.argsort(received, kind="stable")
        order = order[(last > first)[order]]
        arrivals = tuple(one[order] for one in (received, sent, source, sender, run, first, last))
        entries = tuple(
            _together(column).astype(np.int64)
            for column in zip(*((one.place, one.offset, one.length) for one in carried), strict=True)
        )
        relays = self.relays.of([(one.input.source, one.attempt) for one in arrived])
        rows, gaps = holding.hold(arrivals, entries, relays, self.tasks)
        self.found.gaps += gaps
        return rows

    # --- the world outside ---

    def _outside(self) -> tuple[Input, ...]:
        return tuple(Input(channel_id(task, WORLD), task) for task in self.names.graph.order)

    def leave_outside(self) -> None:
        """What was left with it, in time; a rollback makes it forget."""
        inputs = self._outside()
        begins = sorted({0, *self.lifetimes.rollbacks})
        for since_us, until_us in zip(begins, [*(one - 1 for one in begins[1:]), FOREVER], strict=True):
            lineage = int(np.searchsorted(np.sort(self.lifetimes.rollbacks), since_us, side="right"))
            arrivals = Arrivals(self.rows.sendings, inputs, "sent_us", None, since_us, until_us)
            self._hold(len(self.names.tasks), lineage, arrivals)
        self._tell(self.total - self.done)


class _Holding:
    """What somebody holds so far."""

    def __init__(self, places: int, tasks: int) -> None:
        self._held = np.zeros(places, np.int64)
        self._newest = np.full(places, -1, np.int64)
        self._grown = np.zeros(places, np.int64)
        self._nodes = _empty(3, 0)
        self._tasks = tasks
        self._count = 0

    def hold(self, arrivals: tuple[Any, ...], entries: Any, relays: Any, tasks: Any) -> tuple[Any, int]:
        """The rows that those who arrive next make, and how many deltas begin behind what was there."""
        bound = int((arrivals[6] - arrivals[5]).sum())
        self._nodes = tuple(np.concatenate([one[: self._count], np.empty(bound, np.int64)]) for one in self._nodes)
        nothing_at = np.full(len(self._held), -1, np.int64), np.full(self._tasks, -1, np.int64)
        state = (self._held, self._newest, self._grown, *nothing_at)
        out = _empty(4, bound)
        rows, gaps, self._count = kernels.hold(arrivals, entries, relays, tasks, state, self._nodes, out, self._count)
        return (tuple(one[:rows] for one in out) if rows else None), gaps


def _at_once(sendings: int, more: int) -> int:
    """So many sendings, where so much more comes with all of them."""
    return max(1, ROWS_AT_ONCE * sendings // (sendings + more + 1))


def _together(parts: Any) -> Any:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _empty(columns: int, rows: int) -> tuple[Any, ...]:
    return tuple(np.empty(rows, np.int64) for _ in range(columns))
