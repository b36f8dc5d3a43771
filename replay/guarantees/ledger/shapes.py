"""What is known of operators without executing them: which give one record for each that they take."""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.jobs.churn import TIMER_KEY, Churn
from replay.jobs.enrich import Enrich
from replay.jobs.load_balance import Dispatcher
from replay.jobs.pass_through import PassThrough, Relay, Sink, Source
from replay.jobs.registry import OPERATORS, operator_name
from replay.jobs.word_count import Count
from replay.runtime.body.event_time import INGESTION
from replay.runtime.operators.functional import Filter, FlatMap, Map

_ONE_FOR_ONE = frozenset(map(operator_name, (Churn, PassThrough, Relay, Dispatcher, Enrich, Count, Source)))
_FOLLOWS = frozenset(
    name for name, one in OPERATORS.items() if isinstance(one, type) and issubclass(one, Map | Filter | FlatMap)
)
_WRITES_EACH = frozenset(map(operator_name, (Sink,)))
_HANDS_ON = frozenset(map(operator_name, (Source,)))
OF_A_TIMER = TIMER_KEY
"""The key of records that a timer emitted: they come on top of one for each."""


def writes_each(source: RecordingSource, task: str) -> bool:
    """Whether a sink gives each record that it takes to the outside, and nothing else."""
    return source.graph.vertex_of(task).operator in _WRITES_EACH


def hands_on(source: RecordingSource, task: str) -> bool:
    """Whether a source gives each record that it reads away as it is, and nothing else."""
    vertex = source.graph.vertex_of(task)
    return vertex.operator in _HANDS_ON and vertex.options.get("time") != INGESTION  # which stamps each


def ways_to(source: RecordingSource, task: str) -> dict[str, int] | None:
    """How often a record of each source vertex must come to the vertex of that sink; None where that isn't known."""
    graph = source.graph
    target = graph.vertex_of(task)
    above = {graph.task(one).vertex for one in graph.all_upstream(task)}
    vertices = {one.id: one for one in source.manifest.vertices if one.id in above}
    if not writes_each(source, task) or any(one.operator not in _ONE_FOR_ONE for one in vertices.values()):
        return None
    ways = dict.fromkeys(vertices, 0) | {target.id: 1}
    order = list(dict.fromkeys(graph.task(one).vertex for one in graph.order))
    for vertex in reversed([one for one in order if one in vertices]):
        for edge in source.manifest.edges:
            if edge.source == vertex and edge.target in ways:
                tasks = sum(one.vertex == edge.target for one in graph.tasks)
                ways[vertex] += ways[edge.target] * (tasks if edge.ship == "broadcast" else 1)
    return {one: count for one, count in ways.items() if vertices.get(one, target).kind == "source"}


def repeats(source: RecordingSource, task: str) -> bool:
    """Whether what comes of a record that a task takes twice comes out twice of every sink below: operators there give
    one record for each, or what follows from the record alone."""
    below = [task, *source.graph.all_downstream(task)]
    sinks = [one for one in below if not source.graph.task(one).outputs]
    operators = {source.graph.vertex_of(one).operator for one in below if one not in sinks}
    return operators <= _ONE_FOR_ONE | _FOLLOWS and all(writes_each(source, one) for one in sinks)
