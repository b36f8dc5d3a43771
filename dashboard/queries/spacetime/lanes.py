"""The lanes of the diagram: a task each, or a vertex whose tasks are folded into one; without those that are hidden."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from replay.model import Channel, Graph

# Unless somebody asks for more: so many lanes fit on a screen, and vertices of more tasks begin folded.
OPEN_UP_TO = 24
MOST_LANES = 400
NOTHING = "-"
"""Stands in an address where no vertex is folded: an empty parameter would be left out."""


@dataclass(frozen=True, slots=True)
class Lane:
    """`tasks`: one, or all that are folded into it."""

    id: str
    vertex: str
    tasks: tuple[str, ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class Lanes:
    """In the order of the graph, sources on top."""

    graph: Graph
    shown: tuple[Lane, ...]
    hidden: tuple[str, ...]

    @classmethod
    def of(cls, graph: Graph, *, folded: Collection[str] | None = None, hidden: Collection[str] = ()) -> Lanes:
        """`folded` None: the vertices that would be too many lanes."""
        by_vertex: dict[str, list[str]] = {}
        for task in graph.order:
            by_vertex.setdefault(graph.task(task).vertex, []).append(task)
        folded = _folded(by_vertex, folded)
        gone = tuple(one for tasks in by_vertex.values() for one in tasks if one in hidden)
        shown: list[Lane] = []
        for vertex, tasks in by_vertex.items():
            kept = sorted((one for one in tasks if one not in hidden), key=lambda one: graph.task(one).subtask)
            if vertex in folded and kept:
                shown.append(Lane(vertex, vertex, tuple(kept), folded=True))
            else:
                shown += [Lane(one, vertex, (one,), folded=False) for one in kept]
        return cls(graph, tuple(shown), gone)

    @property
    def folded(self) -> list[str]:
        return [one.vertex for one in self.shown if one.folded]

    def width(self, vertex: str) -> int:
        """How many lanes a vertex has."""
        return sum(one.vertex == vertex for one in self.shown)

    def of_tasks(self) -> Mapping[str, int]:
        """Where each task that is shown has its lane."""
        return {task: n for n, lane in enumerate(self.shown) for task in lane.tasks}

    def channels(self) -> list[tuple[Channel, int, int]]:
        """Those between lanes, with both."""
        place = self.of_tasks()
        return [
            (one, place[one.source], place[one.target])
            for one in self.graph.channels
            if one.source in place and one.target in place
        ]

    def for_script(self) -> list[dict[str, Any]]:
        return [
            {"id": one.id, "vertex": one.vertex, "tasks": list(one.tasks), "folded": one.folded} for one in self.shown
        ]


def _folded(by_vertex: Mapping[str, list[str]], asked: Collection[str] | None) -> set[str]:
    """What is asked for; but never so few that there are more lanes than anybody could scroll through."""
    folded = {one for one in by_vertex if one in asked} if asked is not None else set()
    limit = OPEN_UP_TO if asked is None else MOST_LANES
    for vertex in sorted(by_vertex, key=lambda one: -len(by_vertex[one])):
        lanes = sum(1 if one in folded else len(tasks) for one, tasks in by_vertex.items())
        if lanes <= limit or len(by_vertex[vertex]) == 1:
            break
        folded.add(vertex)
    return folded
