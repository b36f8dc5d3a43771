"""Puts jobs together: vertices of one parallelism, in rows, with what the options ask of sources, clocks and chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.jobs.draws import Draws, mixed
from replay.jobs.graphs import ORIGIN_MS, Shape, operator_name, padded
from replay.jobs.options import RecordOptions
from replay.jobs.pass_through import Relay, Sink, Source
from replay.jobs.sample import rate_per_s
from replay.model import Edge, Manifest, Record, TaskId, Vertex
from replay.runtime.operators import Operator
from replay.runtime.outside.partition_log import SteadyPartition

EventMaker = Callable[[int, Draws], tuple[Any, dict[str, Any]]]
"""From an offset and chance, a record's key and value."""


@dataclass(frozen=True, slots=True)
class Step:
    """A vertex in a row. `clocked` asks for the time, `chance` for random numbers; or `services` says it."""

    name: str
    operator: type[Operator]
    options: Mapping[str, Any] = field(default_factory=dict)
    clocked: bool = False
    chance: bool = False
    services: Mapping[str, str] | None = None


def time_of(options: RecordOptions, default: str) -> str:
    """The notion of time that the job runs on."""
    return options.time or default


def source(options: RecordOptions, *, time: str, out_of_order_ms: int = 0, chance: bool = False) -> Vertex:
    """A source with watermarks, where anything goes by them; it ends event time with its last record."""
    chosen: dict[str, Any] = {"time": time, "records": shares(options)}
    if time == "processing":
        chosen["watermarks"] = {}
    elif options.watermark_records:
        chosen["watermarks"] = {"every_records": options.watermark_records, "out_of_order_ms": out_of_order_ms}
    else:
        chosen["watermarks"] = {"every_ms": options.watermark_ms, "out_of_order_ms": out_of_order_ms}
    return Vertex(
        "source",
        "source",
        operator_name(Source),
        options=chosen,
        parallelism=options.parallelism,
        services=_services(options, clocked=time != "processing", chance=chance),
    )


def vertex(step: Step, options: RecordOptions) -> Vertex:
    """An operator's vertex."""
    return Vertex(
        step.name,
        "operator",
        operator_name(step.operator),
        options=dict(step.options),
        parallelism=options.parallelism,
        services=_services(options, clocked=step.clocked, chance=step.chance)
        if step.services is None
        else step.services,
    )


def sink(options: RecordOptions) -> Vertex:
    """The sink's vertex."""
    return Vertex("sink", "sink", operator_name(Sink), parallelism=options.parallelism)


def _services(options: RecordOptions, *, clocked: bool, chance: bool) -> dict[str, str]:
    period_ms = options.clock_period_ms
    time = {"time": f"periodic:{period_ms}" if period_ms else "call"} if clocked else {}
    return {**time, "random": options.random} if chance else time


def row(options: RecordOptions, first: Vertex, steps: Sequence[Step], ships: Sequence[str]) -> Shape:
    """A source, steps one after the other, and a sink; `ships` has one more than there are steps."""
    vertices = [first, *(vertex(step, options) for step in steps), sink(options)]
    names = [one.id for one in vertices]
    edges = [Edge(one, other, ship) for one, other, ship in zip(names, names[1:], ships, strict=False)]
    return deepened(options, vertices, edges, len(vertices))


def deepened(options: RecordOptions, vertices: Sequence[Vertex], edges: Sequence[Edge], depth: int) -> Shape:
    """As deep as was asked for, with operators that hand on what they are given."""
    return padded(vertices, edges, operator_name(Relay), more=max(0, (options.depth or depth) - depth))


def shares(options: RecordOptions) -> list[int]:
    """How many records each source task reads: the first ones take what doesn't divide."""
    each, more = divmod(options.events, options.parallelism)
    return [each + (i < more) for i in range(options.parallelism)]


def steady_partitions(manifest: Manifest, options: RecordOptions, make: EventMaker) -> dict[TaskId, SteadyPartition]:
    """One for every source task, at one rate, of what `make` makes."""
    sources = [task for task in manifest.tasks if not task.inputs]
    each_per_s = rate_per_s(options) / len(sources)
    return {
        task.id: SteadyPartition(records, each_per_s, _maker(mixed(options.seed * 1_000_003 + task.number), make))
        for task, records in zip(sources, shares(options), strict=True)
    }


def _maker(base: int, make: EventMaker) -> Callable[[int, int], Record]:
    def record(offset: int, arrival_us: int) -> Record:
        key, value = make(offset, Draws(mixed(base + offset)))
        return Record(key, ORIGIN_MS + arrival_us // 1000, value)

    return record
