"""Builds the `pass-through` job: `source`, `map-1` …, `sink`, of any depth and parallelism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.jobs.draws import mixed
from replay.jobs.graphs import ORIGIN_MS, manifest_of
from replay.jobs.pass_through import PassThrough, Sink, Source
from replay.jobs.registry import operator_name
from replay.jobs.sample import SampleJob, Shape, rate_per_s
from replay.model import Edge, Job, Manifest, Protocol, Record, TaskId, Vertex
from replay.runtime.partition_log import SteadyPartition

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
    shipped = ships or [_ship(i, last=depth - 2) for i in range(depth - 1)]
    edges = [Edge(a, b, ship) for a, b, ship in zip(names, names[1:], shipped, strict=False)]
    return vertices, edges


def _ship(edge: int, *, last: int) -> str:
    return "forward" if edge % 2 and edge != last else "hash"


def pass_through_partitions(
    manifest: Manifest, *, seed: int, events: int, rate_per_s: float
) -> dict[TaskId, SteadyPartition]:
    """One partition per source task; `events` in all, the first partitions taking what doesn't divide."""
    sources = [task for task in manifest.tasks if not task.inputs]
    each, more = divmod(events, len(sources))
    return {
        task.id: SteadyPartition(each + (i < more), rate_per_s, _maker(seed, task.number))
        for i, task in enumerate(sources)
    }


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
    shape=lambda options: _shape(options.parallelism, options.depth or 3),
    partitions=lambda manifest, options: pass_through_partitions(
        manifest, seed=options.seed, events=options.events, rate_per_s=rate_per_s(options)
    ),
    depth=2,
)
