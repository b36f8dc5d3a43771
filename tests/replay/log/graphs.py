"""Small jobs for tests of logs."""

from replay.model import Channel, Clock, Edge, Graph, Job, Manifest, Output, Protocol, Task, Vertex, channel_id

__all__ = ["Channel", "chain", "graph", "manifest"]


def manifest(edges, *, numbers=None, partitions=None, protocol=None):
    """A job of these tasks, given as (from, to) pairs; every vertex is as wide as its tasks need."""
    tasks = list(dict.fromkeys(task for edge in edges for task in edge))
    vertices = {}
    for task in tasks:
        vertex, subtask = task.rsplit(".", 1)
        vertices[vertex] = max(vertices.get(vertex, 1), int(subtask) + 1)
    targets = {target.rsplit(".", 1)[0] for _, target in edges}
    made = Manifest(
        job=Job("test"),
        clock=Clock(0),
        protocol=protocol or Protocol("clonos"),
        vertices=tuple(
            Vertex(name, "operator" if name in targets else "source", parallelism=width)
            for name, width in vertices.items()
        ),
        edges=tuple(
            Edge(source, target, "hash")
            for source, target in dict.fromkeys((a.rsplit(".", 1)[0], b.rsplit(".", 1)[0]) for a, b in edges)
        ),
        tasks=tuple(_task(task, edges, numbers or {}, partitions or {}, tasks.index(task)) for task in tasks),
    )
    return Manifest.from_json(made.to_bytes())


def _task(task, edges, numbers, partitions, default_number):
    vertex, subtask = task.rsplit(".", 1)
    outputs = [channel_id(a, b) for a, b in edges if a == task]
    return Task(
        id=task,
        vertex=vertex,
        subtask=int(subtask),
        number=numbers.get(task, default_number),
        inputs=tuple(channel_id(a, b) for a, b in edges if b == task),
        outputs=tuple(Output(channel, partitions.get(task, (0, 0)), k) for k, channel in enumerate(outputs)),
    )


def graph(edges, **more):
    return Graph(manifest(edges, **more))


def chain(length):
    """t0.0 -> t1.0 -> … of so many tasks."""
    return graph([(f"t{i}.0", f"t{i + 1}.0") for i in range(length - 1)])
