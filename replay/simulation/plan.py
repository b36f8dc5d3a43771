"""The plan of a world: everything that was drawn, as plain values; a smaller plan is a plan too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, cast

from replay.errors import ReplayError
from replay.jobs.graphs import manifest_of
from replay.model import Edge, Job, Manifest, Protocol, Vertex
from replay.runtime.attempts.memory import Memory
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.runtime.costs import Costs
from replay.simulation.schedule import Aim, Schedule, Suspected
from replay.simulation.site import Site


@dataclass(frozen=True, slots=True)
class Plan:
    """A job, its settings, and what goes wrong. The seed also decides all that is left to chance while it runs."""

    seed: int
    job: str
    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    protocol: Protocol
    events: int
    rate_per_s: float
    costs: Costs
    jitter: float
    schedule: Schedule = field(default_factory=Schedule)
    memory: Memory = field(default_factory=Memory)
    site: Site = field(default_factory=Site)
    checkpoints: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of `record`, where the job is one of its own: what its sources read and its windows hold."""

    @property
    def memory_of_tasks(self) -> Memory:
        """Where nothing is spilled, there must be room for every buffer."""
        spills = self.protocol.spill != "memory"
        return self.memory if spills else replace(self.memory, in_flight_buffers=None)

    def manifest(self) -> Manifest:
        """The job as the engine and the recording know it."""
        job = Job(self.job, "clonoscope simulation", "", self.seed, "")
        return manifest_of(job, self.protocol, [self._told(one) for one in self.vertices], self.edges)

    def _told(self, vertex: Vertex) -> Vertex:
        """A source that ends event time is told how many records each of its tasks reads."""
        if "records" not in vertex.options:
            return vertex
        each, more = divmod(self.events, vertex.parallelism)
        records = [each + (i < more) for i in range(vertex.parallelism)]
        return replace(vertex, options={**vertex.options, "records": records})

    @property
    def describes(self) -> str:
        """The plan in a few words."""
        sizes = {vertex.id: vertex.parallelism for vertex in self.vertices}
        edges = " ".join(f"{e.source}({sizes[e.source]})-{e.ship}->{e.target}({sizes[e.target]})" for e in self.edges)
        settings = _unusual(self.protocol, Protocol("clonos"))
        surroundings = _unusual(self.site, Site()) + _unusual(self.checkpoints, CheckpointPolicy())
        options = "".join(f" {name} {value}" for name, value in self.options.items())
        unusual = ", ".join(settings + surroundings)
        return f"{self.job}{options} of {self.events} records: {edges}; {unusual}; {self.schedule}"


def _unusual(chosen: Any, usual: Any) -> list[str]:
    """The fields that are not as usual, in words."""
    return [
        f"{one.name} {'full' if value is None else value}"
        for one in fields(chosen)
        if (value := getattr(chosen, one.name)) != getattr(usual, one.name)
    ]


def plain(plan: Plan) -> dict[str, Any]:
    """As JSON would give it back."""
    made = {**asdict(plan), "vertices": {v.id: asdict(v) for v in plan.vertices}}
    return cast("dict[str, Any]", json.loads(json.dumps(made)))


def changes(plan: Plan, other: Plan) -> str:
    """What makes the other plan of this one, as one line of JSON."""
    return json.dumps(_changes(plain(plan), plain(other)), separators=(",", ":"))


def _changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: None for key in one if key not in other}
    for key, value in other.items():
        before = one.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            if deeper := _changes(before, value):
                found[key] = deeper
        elif key not in one or value != before:
            found[key] = {"is": None} if value is None else value
    return found


def changed(plan: Plan, text: str) -> Plan:
    """The plan with those changes; the inverse of `changes`."""
    try:
        wanted = json.loads(text)
        return _plan(_merged(plain(plan), wanted))
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise ReplayError(
            f"the changes to the plan can't be read: {fault}",
            remedy="Copy the whole line that the simulation printed, in quotes",
        ) from None


def _merged(one: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for key, value in wanted.items():
        if value is None:
            merged.pop(key, None)
        elif value == {"is": None}:
            merged[key] = None
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


def _plan(made: Mapping[str, Any]) -> Plan:
    schedule = made["schedule"]
    return Plan(
        **{
            **made,
            "vertices": tuple(Vertex(**one) for one in made["vertices"].values()),
            "edges": tuple(Edge(**one) for one in made["edges"]),
            "protocol": Protocol(**made["protocol"]),
            "costs": Costs(**made["costs"]),
            "memory": Memory(**made["memory"]),
            "site": Site(**made["site"]),
            "checkpoints": CheckpointPolicy(**made["checkpoints"]),
            "schedule": Schedule(
                blows=tuple(tuple((task, at_ms) for task, at_ms in blow) for blow in schedule["blows"]),
                kills_in=tuple((task, state) for task, state in schedule["kills_in"]),
                aims=tuple(Aim(**one) for one in schedule["aims"]),
                suspicions=tuple(Suspected(**one) for one in schedule["suspicions"]),
            ),
        }
    )
