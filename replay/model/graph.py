"""The graph of tasks and channels: neighbours, distances, order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from replay.errors import BundleError, check
from replay.model.ids import ChannelId, TaskId
from replay.model.manifest import Manifest, Task, Vertex


@dataclass(frozen=True, slots=True)
class Channel:
    """From output `k` of `source` to input `i` of `target`."""

    id: ChannelId
    source: TaskId
    k: int
    target: TaskId
    i: int


class Graph:
    """Tasks and channels of a job, as its manifest lists them: a graph without cycles."""

    def __init__(self, manifest: Manifest):
        self.manifest = manifest
        self._tasks = {task.id: task for task in manifest.tasks}
        self._vertices = {vertex.id: vertex for vertex in manifest.vertices}
        self._channels = _channels(manifest.tasks)
        self._distances: dict[str, dict[TaskId, int]] = {}
        self._longest: dict[str, dict[TaskId, int]] = {}
        self.order: tuple[TaskId, ...] = _topological(manifest.tasks, self._channels)

    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, in the manifest's order."""
        return self.manifest.tasks

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All channels, by source task and output index."""
        return tuple(self._channels.values())

    def task(self, task: str) -> Task:
        """The task of that id."""
        check(task in self._tasks, f"no task {task}")
        return self._tasks[TaskId(task)]

    def vertex_of(self, task: str) -> Vertex:
        """The vertex that a task belongs to."""
        return self._vertices[self.task(task).vertex]

    def channel(self, channel: str) -> Channel:
        """The channel of that id."""
        check(channel in self._channels, f"no channel {channel}")
        return self._channels[ChannelId(channel)]

    def upstream(self, task: str) -> tuple[TaskId, ...]:
        """The tasks that send to this one, in input order."""
        return tuple(self._channels[c].source for c in self.task(task).inputs)

    def downstream(self, task: str) -> tuple[TaskId, ...]:
        """The tasks that this one sends to, in output order."""
        return tuple(self._channels[o.channel].target for o in self.task(task).outputs)

    def distance(self, source: str, target: str) -> int | None:
        """Hops from one task down to another along channels; None where there is no way."""
        if source not in self._distances:
            self._distances[source] = self._distances_from(TaskId(source))
        return self._distances[source].get(TaskId(target))

    def longest_distance(self, source: str, target: str) -> int | None:
        """Hops on the longest way from one task down to another; None where there is no way."""
        if source not in self._longest:
            hops = {TaskId(source): 0}
            for one in self.order:
                if one in hops:
                    for below in self.downstream(one):
                        hops[below] = max(hops.get(below, 0), hops[one] + 1)
            self._longest[source] = hops
        return self._longest[source].get(TaskId(target))

    def all_downstream(self, task: str) -> frozenset[TaskId]:
        """Every task that a record of this one can reach, without itself."""
        self.distance(task, task)
        return frozenset(self._distances[task]) - {TaskId(task)}

    def all_upstream(self, task: str) -> frozenset[TaskId]:
        """Every task whose records can reach this one, without itself."""
        found: set[TaskId] = set()
        waiting = list(self.upstream(task))
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting.extend(self.upstream(one))
        return frozenset(found)

    def _distances_from(self, source: TaskId) -> dict[TaskId, int]:
        hops = {source: 0}
        waiting = deque([source])
        while waiting:
            one = waiting.popleft()
            for target in self.downstream(one):
                if target not in hops:
                    hops[target] = hops[one] + 1
                    waiting.append(target)
        return hops


def _channels(tasks: Iterable[Task]) -> dict[ChannelId, Channel]:
    tasks = tuple(tasks)
    inputs = {c: (t.id, i) for t in tasks for i, c in enumerate(t.inputs)}
    return {o.channel: Channel(o.channel, t.id, k, *inputs[o.channel]) for t in tasks for k, o in enumerate(t.outputs)}


def _topological(tasks: Iterable[Task], channels: Mapping[ChannelId, Channel]) -> tuple[TaskId, ...]:
    by_id = {task.id: task for task in tasks}
    missing = {task.id: len(task.inputs) for task in by_id.values()}
    ready = deque(task for task, count in missing.items() if count == 0)
    order: list[TaskId] = []
    while ready:
        one = ready.popleft()
        order.append(one)
        for output in by_id[one].outputs:
            target = channels[output.channel].target
            missing[target] -= 1
            if missing[target] == 0:
                ready.append(target)
    if len(order) < len(by_id):
        stuck = min(task for task, count in missing.items() if count > 0)
        raise BundleError(
            f"the tasks form a cycle at or above {stuck}",
            path="job.json",
            remedy="A job's channels must not lead back to their task",
        )
    return tuple(order)
