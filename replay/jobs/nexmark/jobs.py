"""The NEXMark queries as jobs: their graphs, and the partitions that their sources read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from replay.jobs.graphs import padded
from replay.jobs.nexmark.generator import Generator, Habits
from replay.jobs.nexmark.partition import HeldBack, NexmarkPartition
from replay.jobs.nexmark.queries import CurrencyConversion, Selection
from replay.jobs.nexmark.rate import Rate
from replay.jobs.options import RecordOptions
from replay.jobs.pass_through import Relay, Sink, Source
from replay.jobs.registry import operator_name
from replay.jobs.sample import SampleJob, Shape, rate_per_s
from replay.model import Edge, Manifest, TaskId, Vertex
from replay.runtime.operators import Operator

_TAKES = frozenset({"rate_shape", "rate_swing", "rate_period_ms", "record_bytes", "held_back_ms", "held_back_one_in"})


def nexmark_partitions(manifest: Manifest, options: RecordOptions) -> Mapping[TaskId, NexmarkPartition]:
    """One for every source task; `events` in all, the first partitions taking what doesn't divide."""
    sources = [task for task in manifest.tasks if not task.inputs]
    each, more = divmod(options.events, len(sources))
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
            records=each + (i < more),
            held_back=held_back,
            seed=options.seed * 1_000_003 + i,
        )
        for i, task in enumerate(sources)
    }


def _vertex(name: str, kind: str, operator: Callable[[], Operator], options: RecordOptions) -> Vertex:
    return Vertex(name, kind, operator_name(operator), parallelism=options.parallelism)


def _row(name: str, operator: Callable[[], Operator]) -> Callable[[RecordOptions], Shape]:
    """A source, one operator and a sink."""

    def shape(options: RecordOptions) -> Shape:
        vertices = [
            _vertex("source", "source", Source, options),
            _vertex(name, "operator", operator, options),
            _vertex("sink", "sink", Sink, options),
        ]
        edges = [Edge("source", name, "hash"), Edge(name, "sink", "hash")]
        return padded(vertices, edges, operator_name(Relay), more=(options.depth or 3) - 3)

    return shape


NEXMARK_JOBS = (
    SampleJob(
        name="nexmark-q1",
        description="NEXMark query 1: the price of every bid, turned from dollar cents into euro cents.",
        shape=_row("convert", CurrencyConversion),
        partitions=nexmark_partitions,
        times=("event",),
        takes=_TAKES,
    ),
    SampleJob(
        name="nexmark-q2",
        description="NEXMark query 2: auction and price of the bids on every 123rd auction.",
        shape=_row("select", Selection),
        partitions=nexmark_partitions,
        times=("event",),
        takes=_TAKES,
    ),
)
