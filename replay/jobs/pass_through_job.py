"""Builds the `pass-through` job: `source`, `map-1` …, `sink`, of any depth and parallelism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from replay.jobs.draws import mixed
from replay.jobs.graphs import ORIGIN_MS, Shape, manifest_of, operator_name
from replay.jobs.options import RecordOptions
from replay.jobs.pass_through import PassThrough, Sink, Source
from replay.jobs.sample import SampleJob, rate_per_s
from replay.model import Edge, Job, Manifest, Protocol, Record, TaskId, Vertex
from replay.runtime.outside.partition_log import SteadyPartition

_KEYS = 24


def pass_through_manifest(
    job: Job,
    protocol: Protocol,
    *,
    parallelism: int,
    depth: int,
    ships: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Manifest:
    """`depth` counts source and sink. Without `ships`, every second edge forwards; the first and the last one hash."""
    return manifest_of(job, protocol, *_shape(parallelism, depth, ships, options))


def _shape(
    parallelism: int, depth: int, ships: Sequence[str] | None = None, options: Mapping[str, Any] | None = None
) -> Shape:
    names = ["source", *(f"map-{i}" for i in range(1, depth - 1)), "sink"]
    operators = [operator_name(Source), *(operator_name(PassThrough) for _ in names[1:-1]), operator_name(Sink)]
    kinds = ["source", *("operator" for _ in names[1:-1]), "sink"]
    vertices = [
        Vertex(
            name,
            kind,
            operator,
            options=dict(options or {}) if kind == "operator" else {},
            parallelism=parallelism,
            services={"time": "call"} if kind == "operator" else {},
        )
        for name, kind, operator in zip(names, kinds, operators, strict=True)
    ]
    shipped = ships or _ships("mixed", depth)
    edges = [Edge(a, b, ship) for a, b, ship in zip(names, names[1:], shipped, strict=False)]
    return vertices, edges


def _ships(stream: str, depth: int) -> list[str]:
    """Of every edge of a row: records go by key, or straight on, or both in turn."""
    last = depth - 2
    if stream == "mixed":
        return ["forward" if edge % 2 and edge != last else "hash" for edge in range(depth - 1)]
    return ["hash" if stream == "keyed" else "forward"] * (depth - 1)


def ships_of(options: RecordOptions, depth: int) -> list[str]:
    """As the options ask for."""
    return _ships(options.stream, depth)


def map_options(options: RecordOptions, time: str) -> dict[str, Any]:
    """Of a map: it asks for the time where the job runs on it, and gives each record another key."""
    chosen = {"clock_every": int(time == "processing"), "rekey": True}
    return {**chosen, "state_access": options.state_access / 100} if options.state_access else chosen


def map_services(options: RecordOptions, time: str) -> dict[str, str]:
    """The state is accessed by chance, with one seed an epoch."""
    clock = clock_services(options) if time == "processing" else {}
    return {**clock, "random": "seed"} if options.state_access else clock


def clock_services(options: RecordOptions) -> dict[str, str]:
    """Of a task that asks for the time."""
    return {"time": f"periodic:{options.clock_period_ms}" if options.clock_period_ms else "call"}


def _pass_through(options: RecordOptions) -> Shape:
    depth, time = options.depth or 3, options.time or "processing"
    vertices, edges = _shape(options.parallelism, depth, ships_of(options, depth), map_options(options, time))
    maps = [replace(one, services=map_services(options, time)) for one in vertices[1:-1]]
    source = vertices[0]
    if time == "ingestion":
        source = replace(source, options={"time": time}, services=clock_services(options))
    return [source, *maps, vertices[-1]], edges


def pass_through_partitions(
    manifest: Manifest, *, seed: int, events: int, each_per_s: float
) -> dict[TaskId, SteadyPartition]:
    """One per source task, each of its own rate; `events` in all, the first ones taking what doesn't divide."""
    sources = [task for task in manifest.tasks if not task.inputs]
    each, more = divmod(events, len(sources))
    return {
        task.id: SteadyPartition(each + (i < more), each_per_s, _maker(seed, task.number))
        for i, task in enumerate(sources)
    }


def partitions_of(manifest: Manifest, options: RecordOptions) -> dict[TaskId, SteadyPartition]:
    """What the options ask for: the partitions share the rate, as they share the records."""
    each_per_s = rate_per_s(options) / options.parallelism
    return pass_through_partitions(manifest, seed=options.seed, events=options.events, each_per_s=each_per_s)


def _maker(seed: int, number: int) -> Any:
    base = mixed(seed * 1_000_003 + number)

    def make(offset: int, arrival_us: int) -> Record:
        noise = mixed(base + offset)
        value = {"n": offset, "amount": noise % 100_000}
        return Record(f"k{(noise >> 32) % _KEYS:02d}", ORIGIN_MS + arrival_us // 1000, value)

    return make


PASS_THROUGH = SampleJob(
    name="pass-through",
    description="Records go from sources through maps, which stamp them with time and order, to sinks.",
    shape=_pass_through,
    partitions=partitions_of,
    depth=2,
    times=("processing", "ingestion", "event"),
    takes=frozenset({"stream", "state_access", "clock_period_ms"}),
    shows_all=True,
)
