"""The NEXMark queries as jobs: their graphs, and the partitions that their sources read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from replay.jobs.graphs import Shape
from replay.jobs.nexmark import queries, windowed
from replay.jobs.nexmark.generator import Generator, Habits
from replay.jobs.nexmark.partition import HeldBack, NexmarkPartition
from replay.jobs.nexmark.rate import Rate
from replay.jobs.options import RecordOptions
from replay.jobs.rows import Step, deepened, row, shares, sink, source, time_of, vertex
from replay.jobs.sample import SampleJob, rate_per_s
from replay.model import Edge, Manifest, TaskId, Vertex
from replay.runtime.operators import Operator

_WINDOW_MS = 10_000
_WAITS_MS = 600_000
_TAKES = frozenset(
    {
        "rate_shape",
        "rate_swing",
        "rate_period_ms",
        "record_bytes",
        "held_back_ms",
        "held_back_one_in",
        "watermark_ms",
        "watermark_records",
        "clock_period_ms",
    }
)


def nexmark_partitions(manifest: Manifest, options: RecordOptions) -> Mapping[TaskId, NexmarkPartition]:
    """One for every source task; `events` in all, the first partitions taking what doesn't divide."""
    sources = [task for task in manifest.tasks if not task.inputs]
    mean_per_s, swing = rate_per_s(options) / len(sources), options.rate_swing / 100
    rate = Rate.shaped(
        options.rate_shape,
        low_per_s=mean_per_s * (1 - swing),
        high_per_s=mean_per_s * (1 + swing),
        period_ms=options.rate_period_ms,
    )
    habits = Habits(record_bytes=options.record_bytes)
    held_back = HeldBack(options.held_back_ms, options.held_back_one_in)
    return {
        task.id: NexmarkPartition(
            Generator(seed=options.seed, partition=i, partitions=len(sources), rate=rate, habits=habits),
            records=records,
            held_back=held_back,
            seed=options.seed * 1_000_003 + i,
        )
        for i, (task, records) in enumerate(zip(sources, shares(options), strict=True))
    }


def _source(options: RecordOptions, time: str = "event") -> Vertex:
    return source(options, time=time, out_of_order_ms=options.held_back_ms)


def _stateless(name: str, operator: type[Operator]) -> Callable[[RecordOptions], Shape]:
    def shape(options: RecordOptions) -> Shape:
        time = time_of(options, "event")
        return row(options, _source(options, time), [Step(name, operator)], ("rebalance", "hash"))

    return shape


def _two_sides(options: RecordOptions, left: Step, right: Step, join: Step) -> Shape:
    """A source, two filters, what joins them, and a sink."""
    first = _source(options, time_of(options, "event"))
    vertices = [first, vertex(left, options), vertex(right, options), vertex(join, options), sink(options)]
    edges = [
        Edge(first.id, left.name, "forward"),
        Edge(first.id, right.name, "forward"),
        Edge(left.name, join.name, "hash"),
        Edge(right.name, join.name, "hash"),
        Edge(join.name, "sink", "hash"),
    ]
    return deepened(options, vertices, edges, 4)


def _sides(left: str, right: str, **more: Any) -> dict[str, Any]:
    return {"left": left, "right": right, **more}


def _local_items(options: RecordOptions) -> Shape:
    return _two_sides(
        options,
        Step("persons", queries.LocalPersons),
        Step("auctions", queries.LocalAuctions),
        Step("join", queries.LocalItemSuggestion, _sides("persons", "auctions", waits_ms=_WAITS_MS)),
    )


def _new_users(options: RecordOptions) -> Shape:
    time = time_of(options, "event")
    window = _sides("persons", "auctions", time=time, size_ms=options.window_ms or _WINDOW_MS)
    return _two_sides(
        options,
        Step("persons", queries.Persons),
        Step("auctions", queries.Auctions),
        Step("join", windowed.NewUsers, window, clocked=time == "processing"),
    )


def _hot_items(options: RecordOptions) -> Shape:
    size_ms = options.window_ms or _WINDOW_MS
    slide_ms = options.slide_ms or max(1, size_ms // 2)
    steps = [
        Step("bids", queries.Bids),
        Step("count", windowed.BidsPerAuction, {"time": "event", "size_ms": size_ms, "slide_ms": slide_ms}),
        Step("hottest", windowed.HottestAuctions, {"time": "event", "size_ms": slide_ms}),
    ]
    first = _source(options, time_of(options, "event"))
    return row(options, first, steps, ("rebalance", "hash", "hash", "hash"))


def _highest_bids(options: RecordOptions) -> Shape:
    window = {"time": "event", "size_ms": options.window_ms or _WINDOW_MS}
    steps = [
        Step("bids", queries.Bids),
        Step("highest-here", windowed.HighestBidsHere, {**window, "keyed": False}),
        Step("highest", windowed.HighestBids, window),
    ]
    first = _source(options, time_of(options, "event"))
    return row(options, first, steps, ("rebalance", "hash", "hash", "hash"))


def _by_bidder(window: str, default: str) -> Callable[[RecordOptions], Shape]:
    def shape(options: RecordOptions) -> Shape:
        time = time_of(options, default)
        chosen = {"time": time, window: options.window_ms or _WINDOW_MS}
        count = Step("count", windowed.BidsPerWindow, chosen, clocked=time == "processing")
        steps = [Step("bids", queries.BidsByBidder), count]
        return row(options, _source(options, time), steps, ("rebalance", "hash", "hash"))

    return shape


def _job(number: int, what: str, shape: Callable[[RecordOptions], Shape], **more: Any) -> SampleJob:
    return SampleJob(
        name=f"nexmark-q{number}",
        description=f"NEXMark query {number}: {what}",
        shape=shape,
        partitions=nexmark_partitions,
        **{"times": ("event", "ingestion"), "takes": _TAKES, **more},
    )


_WINDOWED = _TAKES | {"window_ms"}
_CLOCKED = _WINDOWED | {"clock_period_ms"}

NEXMARK_JOBS = (
    _job(
        1,
        "the price of every bid, turned from dollar cents into euro cents.",
        _stateless("convert", queries.CurrencyConversion),
    ),
    _job(2, "auction and price of the bids on every 123rd auction.", _stateless("select", queries.Selection)),
    _job(
        3, "who sells items of category 10 in Oregon, Idaho or California; a join of all that came.", _local_items,
        depth=4,
    ),
    _job(
        5, "the auctions with the most bids in each window of 10 s, one every 5 s.", _hot_items,
        takes=_WINDOWED | {"slide_ms"}, depth=5,
    ),
    _job(7, "the highest bids of each window of 10 s.", _highest_bids, takes=_WINDOWED, depth=5),
    _job(
        8, "persons who are new in a window of 10 s, with the auctions that they open in it.", _new_users,
        takes=_CLOCKED, times=("event", "ingestion", "processing"), depth=4,
    ),
    _job(
        11, "the bids of each bidder in each session, which ends when he has not bid for 10 s.",
        _by_bidder("gap_ms", "event"), takes=_CLOCKED, times=("event", "ingestion", "processing"), depth=4,
    ),
    _job(
        12, "the bids of each bidder in windows of 10 s of the wall clock.", _by_bidder("size_ms", "processing"),
        takes=_CLOCKED, times=("processing",), depth=4,
    ),
)  # fmt: skip
