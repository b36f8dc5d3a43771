"""What the vertices of a random world do: one workload per kind of job."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Protocol as Interface

from replay.jobs.pass_through import PassThrough, Sink, Source
from replay.jobs.pass_through_job import pass_through_partitions
from replay.jobs.registry import operator_name
from replay.model import Manifest, TaskId, Vertex
from replay.runtime.partition_log import Partition
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
        operator = {"source": Source, "operator": PassThrough, "sink": Sink}[kind]
        is_map = kind == "operator"
        return Vertex(
            name,
            kind,
            operator_name(operator),
            options={"clock_every": draw.choice((0, 1, 1, 3))} if is_map else {},
            parallelism=parallelism,
            services={"time": "call"} if is_map else {},
        )

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """The records divided among all sources."""
        return pass_through_partitions(manifest, seed=plan.seed, events=plan.events, rate_per_s=plan.rate_per_s)


WORKLOADS: dict[str, Workload] = {one.name: one for one in (PassingThrough(),)}


def random_workload(draw: Random) -> Workload:
    """Any of them."""
    return WORKLOADS[draw.choice(sorted(WORKLOADS))]
