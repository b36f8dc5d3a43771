"""The causal past and future of a place in a recording: what had to happen before it, and what followed from it.

A task does one thing after another: what it takes comes before what it cuts later, and in one microsecond a take comes
before a cut, as in the table `frontiers`. A buffer is cut before it is taken. An attempt that began from a checkpoint
comes after all that the task had done in the epochs before that checkpoint, in the attempt that took it.

So the past of a place is, of every attempt of every task, all up to some moment, and the future all from one on.
Channels lead nowhere back, so each layer of the graph is asked once, for all its tasks together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ingest.lake.readers import Lake, PublishedJob
from replay.model import Graph

Attempt = tuple[str, int]
"""(task, attempt)"""
NEVER_US = -(1 << 62)
NO_EPOCH = -1

# A clock that was set back is taken to stand: buffers of a channel were cut in the order of their numbers.
_TAKEN_SQL = """
WITH upto AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($attempts::BIGINT[]) AS attempt,
    unnest($t_us::BIGINT[]) AS t_us,
                     unnest($epochs::BIGINT[]) AS epoch)
SELECT s.channel, s.attempt, s.receiver_attempt, max(s.seq), count(*) FROM sendings s
JOIN upto ON s.channel = upto.channel AND s.receiver_attempt = upto.attempt
WHERE s.taken_us <= upto.t_us OR s.taken_epoch < upto.epoch GROUP BY s.channel, s.attempt, s.receiver_attempt
"""
_CUT_SQL = """
WITH upto AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($attempts::BIGINT[]) AS attempt,
    unnest($numbers::BIGINT[]) AS seq)
SELECT b.channel, b.attempt, max(b.cut_us) FROM buffers b
JOIN upto ON b.channel = upto.channel AND b.attempt = upto.attempt
WHERE b.seq <= upto.seq GROUP BY b.channel, b.attempt
"""
_FIRST_CUT_SQL = """
WITH since AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($attempts::BIGINT[]) AS attempt,
    unnest($t_us::BIGINT[]) AS t_us)
SELECT b.channel, b.attempt, min(b.seq), count(*) FROM buffers b
JOIN since ON b.channel = since.channel AND b.attempt = since.attempt
WHERE b.cut_us >= since.t_us GROUP BY b.channel, b.attempt
"""
_FIRST_TAKEN_SQL = """
WITH since AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($attempts::BIGINT[]) AS attempt,
    unnest($numbers::BIGINT[]) AS seq)
SELECT s.channel, s.receiver_attempt, min(s.taken_us), min(s.taken_epoch) FROM sendings s
JOIN since ON s.channel = since.channel AND s.attempt = since.attempt
WHERE s.seq >= since.seq AND s.taken_us IS NOT NULL GROUP BY s.channel, s.receiver_attempt
"""
_STARTS_SQL = """
SELECT e.task, e.attempt, e.checkpoint, max(c.attempt) FROM events e
LEFT JOIN checkpoints c ON c.checkpoint = e.checkpoint AND c.task = e.task AND c.attempt < e.attempt
WHERE e.type = 'attempt-started' AND e.checkpoint > 0 AND e.attempt > 0
GROUP BY e.task, e.attempt, e.checkpoint ORDER BY e.task, e.attempt
"""


@dataclass(frozen=True, slots=True)
class Upto:
    """Of an attempt all up to and in a microsecond, and all before an epoch."""

    t_us: int = NEVER_US
    epoch: int = NO_EPOCH


@dataclass(frozen=True, slots=True)
class Since:
    """Of an attempt all from a microsecond on; `epoch`: in which that was."""

    t_us: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Restart:
    """An attempt that began from a checkpoint. `before` None: which attempt took it is not recorded."""

    task: str
    attempt: int
    checkpoint: int
    before: int | None


@dataclass(slots=True)
class Cone:
    """`firsts`: by channel and sender's attempt, the number of the first buffer that follows from the place.

    `taken` and `sent`: how many buffers each attempt took in the past, and cut in the future.
    """

    past: dict[Attempt, Upto] = field(default_factory=dict)
    future: dict[Attempt, Since] = field(default_factory=dict)
    firsts: dict[tuple[str, int], int] = field(default_factory=dict)
    taken: Counter[Attempt] = field(default_factory=Counter)
    sent: Counter[Attempt] = field(default_factory=Counter)
    unknown: list[Restart] = field(default_factory=list)
    """Attempts in the past that began from something of which the recording does not say whose it was."""


def cone(lake: Lake, graph: Graph, *, job: str, upto: Mapping[Attempt, int], since: Mapping[Attempt, Since]) -> Cone:
    """Of the places `upto` which the past leads, and of those `since` which the future does."""
    return _Closing(lake.job(job), graph).closed(upto, since)


class _Closing:
    """One question's worth of state: the published job, and what is known of each attempt so far."""

    def __init__(self, job: PublishedJob, graph: Graph) -> None:
        self._job, self._graph = job, graph
        self._restarts: dict[str, list[Restart]] = {}
        for row in job.rows(_STARTS_SQL):
            self._restarts.setdefault(row[0], []).append(Restart(*row))
        self._found = Cone()

    def closed(self, upto: Mapping[Attempt, int], since: Mapping[Attempt, Since]) -> Cone:
        for who, t_us in upto.items():
            self._came_before(who, Upto(t_us))
        self._found.future |= since
        layers = _layers(self._graph)
        for tasks in reversed(layers):
            self._back(tasks)
        for tasks in layers:
            self._on(tasks)
        return self._found

    def _back(self, tasks: set[str]) -> None:
        for task in tasks:
            for restart in reversed(self._restarts.get(task, ())):
                self._restored(restart)
        taken = self._taken(tasks)
        if not taken:
            return
        channels, attempts, numbers = (list(one) for one in zip(*taken, strict=True))
        asked = {"channels": channels, "attempts": attempts, "numbers": numbers}
        for channel, attempt, cut_us in self._job.rows(_CUT_SQL, asked):
            self._came_before((self._graph.channel(channel).source, attempt), Upto(cut_us))

    def _restored(self, restart: Restart) -> None:
        if (restart.task, restart.attempt) not in self._found.past:
            return
        if restart.before is None:
            self._found.unknown.append(restart)
        else:
            self._came_before((restart.task, restart.before), Upto(epoch=restart.checkpoint))

    def _taken(self, tasks: set[str]) -> list[tuple[str, int, int]]:
        """Of every channel and sender's attempt the highest number that was taken in the past."""
        rows = [
            (channel, attempt, upto.t_us, upto.epoch)
            for (task, attempt), upto in self._found.past.items()
            if task in tasks
            for channel in self._graph.task(task).inputs
        ]
        if not rows:
            return []
        channels, attempts, t_us, epochs = (list(one) for one in zip(*rows, strict=True))
        asked = {"channels": channels, "attempts": attempts, "t_us": t_us, "epochs": epochs}
        highest: dict[tuple[str, int], int] = {}
        for channel, attempt, taker, seq, count in self._job.rows(_TAKEN_SQL, asked):
            self._found.taken[self._graph.channel(channel).target, taker] += count
            highest[channel, attempt] = max(seq, highest.get((channel, attempt), seq))
        return [(*who, seq) for who, seq in highest.items()]

    def _came_before(self, who: Attempt, more: Upto) -> None:
        known = self._found.past.get(who, Upto())
        self._found.past[who] = Upto(max(known.t_us, more.t_us), max(known.epoch, more.epoch))

    def _on(self, tasks: set[str]) -> None:
        future = self._found.future
        for task in tasks:
            for restart in self._restarts.get(task, ()):
                before = future.get((task, restart.before)) if restart.before is not None else None
                if before is not None and before.epoch < restart.checkpoint:
                    self._followed((task, restart.attempt), NEVER_US, NO_EPOCH)
        rows = [
            (one.channel, attempt, since.t_us)
            for (task, attempt), since in future.items()
            if task in tasks
            for one in self._graph.task(task).outputs
        ]
        if rows:
            self._cut_from(rows)

    def _cut_from(self, rows: Iterable[tuple[str, int, int]]) -> None:
        channels, attempts, t_us = (list(one) for one in zip(*rows, strict=True))
        asked = {"channels": channels, "attempts": attempts, "t_us": t_us}
        cut = self._job.rows(_FIRST_CUT_SQL, asked)
        for channel, attempt, seq, count in cut:
            self._found.sent[self._graph.channel(channel).source, attempt] += count
            known = self._found.firsts.get((channel, attempt), seq)
            self._found.firsts[channel, attempt] = min(known, seq)
        if cut:
            channels, attempts, numbers, _ = (list(one) for one in zip(*cut, strict=True))
            self._taken_from(channels, attempts, numbers)

    def _taken_from(self, channels: list[str], attempts: list[int], numbers: list[int]) -> None:
        asked = {"channels": channels, "attempts": attempts, "numbers": numbers}
        for channel, attempt, t_us, epoch in self._job.rows(_FIRST_TAKEN_SQL, asked):
            self._followed((self._graph.channel(channel).target, attempt), t_us, epoch)

    def _followed(self, who: Attempt, t_us: int, epoch: int) -> None:
        known = self._found.future.get(who)
        if known is not None:
            t_us, epoch = min(t_us, known.t_us), min(epoch, known.epoch)
        self._found.future[who] = Since(t_us, epoch)


def _layers(graph: Graph) -> list[set[str]]:
    """Tasks by the length of the longest way from a source: whoever sends to one stands in a layer before it."""
    depth: dict[str, int] = {}
    for task in graph.order:
        depth[task] = max((depth[one] + 1 for one in graph.upstream(task)), default=0)
    layers: list[set[str]] = [set() for _ in range(max(depth.values(), default=-1) + 1)]
    for one, at in depth.items():
        layers[at].add(one)
    return layers
