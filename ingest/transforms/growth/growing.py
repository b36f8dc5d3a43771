"""What every attempt of every task came to depend on and to hold, from the sources down, one attempt at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.transforms.growth import kernels
from ingest.transforms.growth.channel_rows import ChannelRows
from ingest.transforms.growth.joining import ChannelJoined, carried, joined, places_of_buffers
from ingest.transforms.growth.lifetimes import Lifetimes
from ingest.transforms.growth.places import Names, Places
from ingest.transforms.growth.runs import Run, run_of
from ingest.transforms.growth.spool import Spool
from replay.model import WORLD, Protocol, channel_id


@dataclass(slots=True)
class Growth:
    """The rows of both tables, by run."""

    names: Names
    places: Places
    holders: list[Run] = field(default_factory=list)
    frontiers: list[Run] = field(default_factory=list)
    spool: Spool | None = None
    """Where rows lie that are not in memory."""
    gaps: int = 0
    """Deltas that begin behind what their receiver had."""


def grown(
    rows: ChannelRows, names: Names, lifetimes: Lifetimes, protocol: Protocol, spool: Spool, tell: Callable[[int], None]
) -> Growth:
    """Follows all channels; `tell` is told how many tasks are done."""
    channels = names.graph.channels
    used = [*rows.used, *(pair for one in channels for pair in places_of_buffers(rows, one, names))]
    places = Places(len(names.logs), rows.epochs, used)
    following = _Following(rows, lifetimes, protocol, spool, Growth(names, places, spool=spool))
    for done, task in enumerate(names.graph.order):
        tell(done)
        following.follow(task)
        spool.let_go()
    if protocol.logs:
        following.leave_outside()
    return following.found


class _Following:
    """Task by task: the runs above are there when a task is reached."""

    def __init__(
        self, rows: ChannelRows, lifetimes: Lifetimes, protocol: Protocol, spool: Spool, found: Growth
    ) -> None:
        self.rows, self.lifetimes, self.protocol, self.spool, self.found = rows, lifetimes, protocol, spool, found
        self.names, self.places = found.names, found.places
        count = len(self.places)
        self.reaches = self.names.reaches()
        task_of_place = self.names.task_of_log[self.places.log] if count else np.zeros(0, np.int64)
        self.tasks = (task_of_place, self.reaches, *lifetimes.arrays(self.names))
        self.depended: dict[tuple[str, int], Run] = {}
        self.held: dict[tuple[str, int], Run] = {}

    def _joined(self, channel: str) -> ChannelJoined:
        graph = self.names.graph
        return joined(self.rows, graph.channel(channel), self.names, self.places, logged=self.protocol.logs)

    def follow(self, task: str) -> None:
        """All attempts of one task."""
        inputs = [self._joined(channel) for channel in self.names.graph.task(task).inputs]
        attempts = np.unique(np.concatenate([[], *(one.sendings["receiver_attempt"] for one in inputs)]))
        for attempt in attempts.astype(np.int64):
            mine = [np.flatnonzero(one.sendings["receiver_attempt"] == attempt) for one in inputs]
            self._depend(task, int(attempt), inputs, mine)
            if self.protocol.logs:
                self._hold(task, int(attempt), inputs, mine)

    # --- depending ---

    def _depend(self, task: str, attempt: int, inputs: list[ChannelJoined], mine: list[Any]) -> None:
        taken = [rows[one.sendings["taken_us"][rows] >= 0] for one, rows in zip(inputs, mine, strict=True)]
        t_us = _gathered(inputs, taken, lambda one: one.sendings["taken_us"])
        if not len(t_us):
            return
        order = np.argsort(t_us, kind="stable")  # by input, where it is one microsecond
        runs, run = self._runs_above(task, inputs, taken)
        columns = [lambda o: o.cut_us, lambda o: o.main, lambda o: o.offset, lambda o: o.output, lambda o: o.built]
        cut_us, main, offset, output, built = (_gathered(inputs, taken, column)[order] for column in columns)
        run = np.where(main < 0, len(runs), run[order])  # what was not cut brings nothing
        above, most = _above(runs)
        bound = 2 * len(t_us) + most
        out = np.empty(bound, np.int64), np.empty(bound, np.int64), np.empty(bound, np.int64)
        frontier = np.zeros(len(self.places), np.int64)
        takes = (t_us[order], run, cut_us, main, offset, output, built)
        count = kernels.depend(takes, above, frontier, *out)
        if count:
            rows = tuple(one[:count] for one in out)
            below = bool(self.names.graph.task(task).outputs)
            made = run_of(self.names.task_number[task], attempt, rows, self.spool, merged=below)
            self.depended[task, attempt] = made
            self.found.frontiers.append(made)

    def _runs_above(self, task: str, inputs: list[ChannelJoined], taken: list[Any]) -> tuple[list[Run | None], Any]:
        """The rows of each sender's attempt, once for every input that they come by."""
        runs: list[Run | None] = []
        of_take = []
        graph = self.names.graph
        for channel, one, rows in zip(graph.task(task).inputs, inputs, taken, strict=True):
            senders, codes = np.unique(one.sendings["attempt"][rows], return_inverse=True)
            of_take.append(codes + len(runs))
            runs += [self.depended.get((graph.channel(channel).source, int(sender))) for sender in senders]
        return runs, np.concatenate(of_take)

    # --- holding ---

    def _hold(self, task: str, attempt: int, inputs: list[ChannelJoined], mine: list[Any]) -> None:
        arrived = [
            rows[(one.sendings["received_us"][rows] >= 0) & (one.last[rows] > one.first[rows])]
            for one, rows in zip(inputs, mine, strict=True)
        ]
        received = _gathered(inputs, arrived, lambda one: one.sendings["received_us"])
        if not len(received):
            return
        order = np.argsort(received, kind="stable")
        graph, sources = self.names.graph, list[Any]()
        for channel, rows in zip(graph.task(task).inputs, arrived, strict=True):
            sources.append(np.full(len(rows), self.names.task_number[graph.channel(channel).source], np.int64))
        sender = _gathered(inputs, arrived, lambda one: one.sendings["attempt"])
        source = np.concatenate(sources)
        sent = _gathered(inputs, arrived, lambda one: one.sendings["sent_us"])
        first, last, entries = _entries(inputs, arrived)
        runs, run = self._relays(source, sender)
        arrivals = tuple(one[order] for one in (received, sent, source, sender, run, first, last))
        rows = self._held(arrivals, entries, runs)
        if rows is not None:
            made = run_of(self.names.task_number[task], attempt, rows, self.spool, merged=False)
            self.held[task, attempt] = made
            self.found.holders.append(made)

    def _relays(self, source: Any, sender: Any) -> tuple[list[Run | None], Any]:
        """What each sender's attempt held itself."""
        pairs, run = np.unique(np.stack([source, sender]), axis=1, return_inverse=True)
        tasks = self.names.tasks
        return [self.held.get((tasks[int(one)], int(attempt))) for one, attempt in pairs.T], run.reshape(-1)

    def _held(self, arrivals: tuple[Any, ...], entries: tuple[Any, ...], runs: list[Run | None]) -> Any:
        count, bound = len(self.places), int((arrivals[6] - arrivals[5]).sum())
        zeros = np.zeros(count, np.int64)
        state = (
            zeros, np.full(count, -1, np.int64), zeros.copy(), np.full(count, -1, np.int64),
            np.full(len(self.names.tasks), -1, np.int64),
        )  # fmt: skip
        out = tuple(np.empty(bound, np.int64) for _ in range(5))
        rows, gaps = kernels.hold(arrivals, entries, _relaying(runs), self.tasks, state, out)
        self.found.gaps += gaps
        return tuple(one[:rows] for one in out[:4]) if rows else None

    # --- the world outside ---

    def leave_outside(self) -> None:
        """What was left with it, in time; a rollback makes it forget."""
        parts: list[tuple[Any, ...]] = []
        deltas: list[dict[str, Any]] = []
        base = 0
        for task in self.names.graph.order:
            sendings = self.rows.sendings.of(channel_id(task, WORLD))
            if not len(sendings["seq"]):
                continue
            carried_by = self.rows.deltas.of(channel_id(task, WORLD))
            first, last = carried(sendings, carried_by)
            source = np.full(len(first), self.names.task_number[task], np.int64)
            parts.append((sendings["sent_us"], source, sendings["attempt"], first + base, last + base))
            deltas.append(carried_by)
            base += len(carried_by["seq"])
        if not parts:
            return
        sent, source, sender, first, last = (np.concatenate(column) for column in zip(*parts, strict=True))
        place = np.concatenate([self.places.of(one["log"], one["epoch"]) for one in deltas])
        entries = (place, *(np.concatenate([one[name] for one in deltas]) for name in ("offset", "length")))
        runs, run = self._relays(source, sender)
        lineage = np.searchsorted(np.sort(np.array(self.lifetimes.rollbacks, np.int64)), sent, side="right")
        for one in np.unique(lineage):
            those = np.flatnonzero(lineage == one)
            order = those[np.argsort(sent[those], kind="stable")]
            arrivals = tuple(each[order] for each in (sent, sent, source, sender, run, first, last))
            rows = self._held(arrivals, entries, runs)
            if rows is not None:
                outside = len(self.names.tasks)
                self.found.holders.append(run_of(outside, int(one), rows, self.spool, merged=False))


def _gathered(inputs: list[ChannelJoined], rows: list[Any], column: Callable[[ChannelJoined], Any]) -> Any:
    parts = (column(one)[those] for one, those in zip(inputs, rows, strict=True))
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _entries(inputs: list[ChannelJoined], rows: list[Any]) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """Where the deltas of each begin and end among those of all inputs, and these."""
    sizes = [len(one.deltas["place"]) for one in inputs]
    bases = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    first = np.concatenate([one.first[those] + base for one, those, base in zip(inputs, rows, bases, strict=True)])
    last = np.concatenate([one.last[those] + base for one, those, base in zip(inputs, rows, bases, strict=True)])
    place, offset, length = (
        np.concatenate([one.deltas[name] for one in inputs]) for name in ("place", "offset", "length")
    )
    return first, last, (place.astype(np.int64), offset, length)


def _above(runs: list[Run | None]) -> tuple[tuple[Any, ...], int]:
    """All rows that may be merged, one run behind the other; behind them one that has none."""
    parts = [one.in_time if one is not None and one.in_time else None for one in runs]
    sizes = [len(one[0]) if one else 0 for one in parts]
    ends = np.cumsum([0, *sizes])
    columns = [np.concatenate([np.zeros(0, np.int64), *(one[n] for one in parts if one is not None)]) for n in range(3)]
    first = np.append(ends[:-1], ends[-1])
    last = np.append(ends[1:], ends[-1])
    return (first, last, np.zeros(len(first), np.int64), *columns), int(ends[-1])


def _relaying(runs: list[Run | None]) -> tuple[Any, ...]:
    """All that relays held, one behind the other: their places, and behind these their rows."""
    begin, places, firsts, base = [0], list[Any](), list[Any](), 0
    columns: list[list[Any]] = [[], [], []]
    for one in runs:
        if one is not None and one.most is not None:
            places.append(one.places)
            firsts.append(one.first[:-1] + base)
            base += len(one)
            for column, values in zip(columns, (one.t_us, one.most, one.whose), strict=True):
                column.append(values)
        begin.append(sum(map(len, places)))
    none = np.zeros(0, np.int64)
    rows = (np.concatenate([none, *column]) for column in columns)
    first = np.append(np.concatenate([none, *firsts]), base)
    return (np.array(begin, np.int64), np.concatenate([none, *places]).astype(np.int64), first.astype(np.int64), *rows)
