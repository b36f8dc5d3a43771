"""What the vertices of a random world do: one workload per kind of job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any
from typing import Protocol as Interface

from replay.jobs.churn import Churn
from replay.jobs.pass_through import PassThrough, Sink, Source
from replay.jobs.pass_through_job import pass_through_partitions
from replay.jobs.registry import operator_name
from replay.model import Edge, Manifest, TaskId, Vertex
from replay.runtime.outside.partition_log import Partition
from replay.simulation.plan import Plan
from replay.simulation.shapes import random_edges, random_ends, random_parallelism, vertices_of


@dataclass(frozen=True, slots=True)
class Drawn:
    """A job, as a plan keeps it."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sources(self) -> int:
        """How many tasks read."""
        return sum(one.parallelism for one in self.vertices if one.kind == "source")


class Workload(Interface):
    """A graph with operators, and what its sources read."""

    @property
    def name(self) -> str:
        """Of the job."""

    def draw(self, draw: Random) -> Drawn:
        """Any graph of it."""

    def duration_ms(self, drawn: Drawn, events: int, rate_per_s: float) -> float:
        """About how long the sources read."""

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """What each source reads."""


def kind_of(name: str) -> str:
    """A vertex's kind, by its name."""
    if name.startswith("source"):
        return "source"
    return "sink" if name == "sink" else "operator"


class _Shaped(ABC):
    """Whatever can stand in a graph of any shape; sources begin with `source`, the sink is `sink`."""

    def draw(self, draw: Random) -> Drawn:
        """One vertex after the other."""
        ends = random_ends(draw)
        names = vertices_of(ends)
        sizes = random_parallelism(draw, names)
        edges = random_edges(draw, ends, sizes)
        return Drawn(tuple(self.vertex(draw, name, sizes[name]) for name in names), edges)

    @abstractmethod
    def vertex(self, draw: Random, name: str, parallelism: int) -> Vertex:
        """The vertex of that name."""

    def duration_ms(self, drawn: Drawn, events: int, rate_per_s: float) -> float:
        """Every source reads at the whole rate."""
        return 1000 * events / rate_per_s / drawn.sources

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """The records divided among all sources."""
        return pass_through_partitions(manifest, seed=plan.seed, events=plan.events, each_per_s=plan.rate_per_s)


class PassingThrough(_Shaped):
    """Every vertex counts and passes on; state and values show order and time."""

    name = "pass-through"

    def vertex(self, draw: Random, name: str, parallelism: int) -> Vertex:
        """Maps ask the clock every so many records."""
        kind = kind_of(name)
        operator = _operator(kind, operator_name(PassThrough))
        is_map = kind == "operator"
        return Vertex(
            name,
            kind,
            operator,
            options={"clock_every": draw.choice((0, 1, 1, 3))} if is_map else {},
            parallelism=parallelism,
            services={"time": "call"} if is_map else {},
        )


class Churning(_Shaped):
    """Maps use every causal service; sources send watermarks, by time, by count, or none."""

    name = "churn"

    def vertex(self, draw: Random, name: str, parallelism: int) -> Vertex:
        """Services by call or once in a while; each used often, seldom or never."""
        kind = kind_of(name)
        operator = _operator(kind, operator_name(Churn))
        options: dict[str, object] = {}
        if kind == "source":
            options = {"watermarks": _watermarks(draw)}
        elif kind == "operator":
            options = {one: draw.choice((0, 1, 3)) for one in ("clock_every", "random_every", "timer_every")}
            options |= {one: draw.choice((0, 0, 2, 5)) for one in ("call_every", "write_every", "event_every")}
            options["timer_ms"] = draw.choice((0, 3, 30))
        services = {"time": draw.choice(("call", "call", "periodic:1", "periodic:20"))}
        services["random"] = draw.choice(("call", "seed"))
        return Vertex(name, kind, operator, options, parallelism, services if kind != "sink" else {})


def _watermarks(draw: Random) -> dict[str, int]:
    every = draw.choice(({}, {"every_ms": 5}, {"every_ms": 40}, {"every_records": 1}, {"every_records": 7}))
    if not every:
        return {}
    return {**every, **draw.choice(({}, {"out_of_order_ms": 10})), **draw.choice(({}, {}, {"idle_after_ms": 15}))}


def _operator(kind: str, between: str) -> str:
    """Only what stands between source and sink differs."""
    return {"source": operator_name(Source), "sink": operator_name(Sink)}.get(kind, between)
