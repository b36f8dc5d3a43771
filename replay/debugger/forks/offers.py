"""Which changes a fork can begin with at a step, as its row tells: those that would not be refused there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replay.jobs.registry import known_operators
from replay.model import Graph, TaskId

_VALUES = ("timestamp", "rng", "serializable")
_BEFORE_ASKING = ("Standby", "WaitingConnections")
_ASKING = (*_BEFORE_ASKING, "WaitingDeterminants")


@dataclass(frozen=True, slots=True)
class Offer:
    """A change, and what can be chosen: `choices` of its one `field`, or a text that begins with `now`."""

    change: str
    field: str = ""
    choices: tuple[str, ...] = ()
    now: str = ""

    def to_json(self) -> dict[str, Any]:
        """As the API tells it."""
        return {"change": self.change, "field": self.field, "choices": list(self.choices), "now": self.now}


def offers(
    graph: Graph, task: str, row: Mapping[str, Any], determinant: str | None, value: Any, *, recovery: bool
) -> list[Offer]:
    """At a step of a replay of `task`; `determinant` and `value` are what it takes from the log, if it does."""
    if task not in graph or row["kind"] in ("finish", "diverge", "fork"):
        return []
    found: list[Offer] = []
    shape = graph.task(task)
    if determinant == "order" and len(shape.inputs) > 1:
        found.append(Offer("order"))
    if determinant in _VALUES:
        found.append(Offer("value", "value", now="" if value is None else str(value)))
    if determinant is not None and row["kind"] != "append":  # what a fork appends of its own nobody else had
        found.append(Offer("lost"))
    if recovery and graph.manifest.protocol.logs:
        found += _of_recovery(graph, TaskId(task), row)
    if graph.manifest.protocol.logs:
        found.append(Offer("failure", "task", tuple(graph.order)))
    if row["kind"] not in ("transition", "request", "answer", "merge"):
        mine = graph.vertex_of(task).operator
        others = tuple(one for one in known_operators() if one != mine)
        found.append(Offer("operator", "operator", others))
    return found


def _of_recovery(graph: Graph, task: TaskId, row: Mapping[str, Any]) -> list[Offer]:
    below = graph.all_downstream(task)
    holders = tuple(one for one in graph.order if one in below)
    found = []
    if row["state"] in _ASKING and holders:
        found.append(Offer("holder", "holder", holders))
    if row["state"] in _BEFORE_ASKING:
        depth = graph.manifest.protocol.sharing_depth
        deepest = max((graph.longest_distance(task, one) or 0 for one in holders), default=0)
        depths = ("full", *(str(one) for one in range(deepest + 1)))
        now = "full" if depth is None else str(depth)
        found.append(Offer("depth", "depth", tuple(one for one in depths if one != now), now))
    return found
