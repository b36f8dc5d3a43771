"""What the vertices of a random world do: one workload per kind of job."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Protocol as Interface

from replay.jobs.churn import Churn
from replay.jobs.pass_through import PassThrough, Sink, Source
from replay.jobs.pass_through_job import pass_through_partitions
from replay.jobs.registry import operator_name
from replay.model import Manifest, TaskId, Vertex
from replay.runtime.outside.partition_log import Partition
from replay.simulation.plan import Plan


class Workload(Interface):
    """Gives a graph its operators and its sources their records."""

    name: str

    def vertex(self, draw: Random, name: str, parallelism: int) -> Vertex:
        """The vertex of that name; sources begin with `source`, the sink is `sink`."""

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """What each source reads."""


def kind_of(name: str) -> str:
    """A vertex's kind, by its name."""
    if name.startswith("source"):
        return "source"
    return "sink" if name == "sink" else "operator"


class PassingThrough:
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

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """The records divided among all sources."""
        return pass_through_partitions(manifest, seed=plan.seed, events=plan.events, rate_per_s=plan.rate_per_s)


class Churning:
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

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """The records divided among all sources."""
        return pass_through_partitions(manifest, seed=plan.seed, events=plan.events, rate_per_s=plan.rate_per_s)


def _watermarks(draw: Random) -> dict[str, int]:
    every = draw.choice(({}, {"every_ms": 5}, {"every_ms": 40}, {"every_records": 1}, {"every_records": 7}))
    if not every:
        return {}
    return {**every, **draw.choice(({}, {"out_of_order_ms": 10})), **draw.choice(({}, {}, {"idle_after_ms": 15}))}


WORKLOADS: dict[str, Workload] = {one.name: one for one in (PassingThrough(), Churning())}


def random_workload(draw: Random) -> Workload:
    """Any of them."""
    return WORKLOADS[draw.choice(sorted(WORKLOADS))]


def _operator(kind: str, between: str) -> str:
    """Only what stands between source and sink differs."""
    return {"source": operator_name(Source), "sink": operator_name(Sink)}.get(kind, between)
