"""The jobs that random worlds run: graphs of any shape, and those that `record` knows, small and otherwise tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from replay.jobs.catalogue import JOBS
from replay.jobs.options import RecordOptions
from replay.jobs.sample import SampleJob
from replay.model import Edge, Manifest, TaskId, Vertex
from replay.runtime.outside.partition_log import Partition
from replay.simulation.plan import Plan
from replay.simulation.workloads import Churning, Drawn, PassingThrough, Workload

Among = Mapping[str, Sequence[Any]]

_MOST_TASKS = 9
_WATERMARKS: Among = {"watermark_ms": (2, 10, 40), "watermark_records": (0, 0, 1, 5)}
_NEXMARK: Among = {
    **_WATERMARKS,
    "held_back_ms": (1, 5, 20),
    "held_back_one_in": (2, 10),
    "rate_shape": ("steady", "sine", "square"),
    "rate_period_ms": (10, 40),
}
_WINDOW: Among = {"window_ms": (2, 10, 40)}
_CLOCK: Among = {"clock_period_ms": (0, 0, 2, 20)}

TUNED: dict[str, Among] = {
    "windowed": {
        **_WATERMARKS,
        **_CLOCK,
        "slide_ms": (5, 10, 20),
        "window_ms": (20, 20, 40),
        "stream": ("mixed", "keyed", "non-keyed"),
        "state_access": (0.0, 50.0),
        "depth": (3, 4, 5),
    },
    "word-count": {},
    "concat": {},
    "random-load-balance": {"random": ("call", "seed")},
    "enrich": {},
    "nexmark-q1": _NEXMARK,
    "nexmark-q2": _NEXMARK,
    "nexmark-q3": _NEXMARK,
    "nexmark-q5": {**_NEXMARK, **_WINDOW},
    "nexmark-q7": {**_NEXMARK, **_WINDOW},
    "nexmark-q8": {**_NEXMARK, **_CLOCK, "window_ms": (10, 40)},
    "nexmark-q11": {**_NEXMARK, **_WINDOW, **_CLOCK},
    "nexmark-q12": {**_NEXMARK, **_WINDOW, **_CLOCK},
}
"""What may be drawn for each job's options."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A job of `record`: its operators where they stand; parallelism by vertex, as far as edges allow it."""

    job: SampleJob
    among: Among

    @property
    def name(self) -> str:
        """As `record` knows it."""
        return self.job.name

    def draw(self, draw: Random) -> Drawn:
        """In any notion of time that the job runs on."""
        options = {name: draw.choice(values) for name, values in self.among.items()}
        if len(self.job.times) > 1:
            options["time"] = draw.choice(self.job.times)
        vertices, edges = self.job.shape(RecordOptions(job=self.name, **options))
        sizes = _sizes(draw, vertices, edges)
        return Drawn(tuple(replace(one, parallelism=sizes[one.id]) for one in vertices), tuple(edges), options)

    def duration_ms(self, drawn: Drawn, events: int, rate_per_s: float) -> float:
        """All sources together read at that rate."""
        return 1000 * events / rate_per_s

    def partitions(self, plan: Plan, manifest: Manifest) -> Mapping[TaskId, Partition]:
        """As the job makes them."""
        (source,) = (one for one in plan.vertices if one.kind == "source")
        options = RecordOptions(
            job=self.name,
            seed=plan.seed,
            events=plan.events,
            rate_per_s=plan.rate_per_s,
            parallelism=source.parallelism,
            **plan.options,
        )
        return self.job.partitions(manifest, options)


def _sizes(draw: Random, vertices: Sequence[Vertex], edges: Sequence[Edge]) -> dict[str, int]:
    """The same along every edge that forwards; never many tasks."""
    same = draw.choice((1, 2, 2, 3)) if draw.random() < 0.5 else None
    leader = {one.id: one.id for one in vertices}
    for edge in edges:
        if edge.ship == "forward":
            old, new = leader[edge.target], leader[edge.source]
            leader = {one: new if found == old else found for one, found in leader.items()}
    drawn = {one: same or draw.choice((1, 1, 2, 3)) for one in sorted(set(leader.values()))}
    while sum(drawn[one] for one in leader.values()) > _MOST_TASKS:
        largest = max(drawn, key=lambda one: drawn[one])
        drawn[largest] -= 1
    return {one: drawn[found] for one, found in leader.items()}


_ALL: tuple[Workload, ...] = (
    PassingThrough(),
    Churning(),
    *(Recorded(JOBS[name], among) for name, among in TUNED.items()),
)
WORKLOADS: dict[str, Workload] = {one.name: one for one in _ALL}
_OFTEN = ("churn",) * 7 + ("pass-through",) * 5


def random_workload(draw: Random) -> Workload:
    """Any of them; those whose graphs have any shape most often."""
    return WORKLOADS[draw.choice((*_OFTEN, *TUNED))]
