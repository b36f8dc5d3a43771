"""Builds manifests: vertices and edges in, tasks and channels out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from replay.errors import check
from replay.model import (
    ChannelId,
    Clock,
    Edge,
    Job,
    Manifest,
    Output,
    Protocol,
    Task,
    TaskId,
    Vertex,
    channel_id,
)
from replay.runtime.operators import Operator

ORIGIN_MS = 1_600_000_000_000
"""When every job in virtual time begins."""


Shape = tuple[Sequence[Vertex], Sequence[Edge]]
"""Vertices and edges."""


def operator_name(operator: type[Operator]) -> str:
    """As a manifest names an operator class."""
    return f"{operator.__module__}:{operator.__qualname__}"


def manifest_of(job: Job, protocol: Protocol, vertices: Sequence[Vertex], edges: Sequence[Edge]) -> Manifest:
    """Channels are numbered by edge, then by subtask; tasks by vertex, then by subtask."""
    inputs: dict[TaskId, list[ChannelId]] = {}
    outputs: dict[TaskId, list[Output]] = {}
    by_id = {vertex.id: vertex for vertex in vertices}
    for edge in edges:
        source, target = by_id[edge.source], by_id[edge.target]
        for one, other in _pairs(source, target, edge.ship):
            channel = channel_id(one, other)
            outputs.setdefault(one, []).append(Output(channel, (0, 0), len(outputs.get(one, ()))))
            inputs.setdefault(other, []).append(channel)
    names = [(vertex.id, subtask) for vertex in vertices for subtask in range(vertex.parallelism)]
    tasks = [
        Task(
            id=_task(vertex, subtask),
            vertex=vertex,
            subtask=subtask,
            number=number,
            inputs=tuple(inputs.get(_task(vertex, subtask), ())),
            outputs=tuple(outputs.get(_task(vertex, subtask), ())),
        )
        for number, (vertex, subtask) in enumerate(names)
    ]
    return Manifest(
        job=job,
        clock=Clock(ORIGIN_MS, "virtual"),
        protocol=protocol,
        vertices=tuple(vertices),
        edges=tuple(edges),
        tasks=tuple(tasks),
    )


def padded(vertices: Sequence[Vertex], edges: Sequence[Edge], operator: str, *, more: int) -> Shape:
    """`more` vertices of an operator, `map-1` …, before the last one: a deeper graph that computes the same."""
    *before, sink = vertices
    last = next(edge for edge in edges if edge.target == sink.id)
    names = [last.source, *(f"map-{i}" for i in range(1, more + 1))]
    maps = [Vertex(name, "operator", operator, parallelism=sink.parallelism) for name in names[1:]]
    joined = [Edge(one, other, "hash" if i % 2 else "forward") for i, (one, other) in enumerate(pairwise(names))]
    others = [edge for edge in edges if edge is not last]
    return (*before, *maps, sink), (*others, *joined, Edge(names[-1], sink.id, last.ship))


def _task(vertex: str, subtask: int) -> TaskId:
    return TaskId(f"{vertex}.{subtask}")


def _pairs(source: Vertex, target: Vertex, ship: str) -> list[tuple[TaskId, TaskId]]:
    if ship == "forward":
        check(source.parallelism == target.parallelism, f"{source.id} can't forward to {target.id}: sizes differ")
        return [(_task(source.id, i), _task(target.id, i)) for i in range(source.parallelism)]
    return [
        (_task(source.id, i), _task(target.id, j)) for i in range(source.parallelism) for j in range(target.parallelism)
    ]
