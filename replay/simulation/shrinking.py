"""Smaller plans of a plan, in the order in which they say most: strikes, records, parallelism, settings, costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from replay.model import Protocol
from replay.runtime.attempts.memory import Memory
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.runtime.costs import Costs
from replay.simulation.plan import Plan
from replay.simulation.settings import under
from replay.simulation.site import Site

_CALM = Protocol("clonos", standby=1, buffer_bytes=1000)


def smaller(plan: Plan) -> Iterator[Plan]:
    """Each with one thing less."""
    for schedule in plan.schedule.smaller():
        yield replace(plan, schedule=schedule)
    yield from _fewer_records(plan)
    yield from _fewer_tasks(plan)
    yield from _calmer_settings(plan)
    if plan.memory != Memory():
        yield replace(plan, memory=Memory())
    yield from _usual_surroundings(plan)
    yield from _usual_costs(plan)


def _fewer_records(plan: Plan) -> Iterator[Plan]:
    for events in (plan.events // 4, plan.events // 2, plan.events - 1):
        if 0 < events < plan.events:
            yield replace(plan, events=events)


def _fewer_tasks(plan: Plan) -> Iterator[Plan]:
    sizes = {vertex.id: vertex.parallelism for vertex in plan.vertices}
    tried = [dict.fromkeys(sizes, 1), *({**sizes, one: sizes[one] - 1} for one in sizes)]
    for wanted in tried:
        forwards = all(wanted[e.source] == wanted[e.target] for e in plan.edges if e.ship == "forward")
        if wanted == sizes or min(wanted.values()) < 1 or not forwards:
            continue
        vertices = tuple(replace(vertex, parallelism=wanted[vertex.id]) for vertex in plan.vertices)
        less = replace(plan, vertices=vertices)
        tasks = [task.id for task in less.manifest().tasks]
        yield replace(less, schedule=plan.schedule.within(tasks))


def _calmer_settings(plan: Plan) -> Iterator[Plan]:
    for one in fields(Protocol):
        calm = getattr(_CALM, one.name)
        if one.name not in ("name", "checkpoint_interval_ms") and getattr(plan.protocol, one.name) != calm:
            calmer = under(plan.protocol.name, replace(plan.protocol, **{one.name: calm}))
            if calmer != plan.protocol:
                yield replace(plan, protocol=calmer)


def _usual_surroundings(plan: Plan) -> Iterator[Plan]:
    for site in (Site(), replace(plan.site, slots=None), replace(plan.site, local_copies=False)):
        if site != plan.site:
            yield replace(plan, site=site)
    usual = CheckpointPolicy()
    for one in fields(CheckpointPolicy):
        if getattr(plan.checkpoints, one.name) != getattr(usual, one.name):
            policy = replace(plan.checkpoints, **{one.name: getattr(usual, one.name)})
            yield replace(plan, checkpoints=policy)


def _usual_costs(plan: Plan) -> Iterator[Plan]:
    usual = Costs()
    if plan.costs != usual:
        yield replace(plan, costs=usual)
    for one in fields(Costs):
        if getattr(plan.costs, one.name) != getattr(usual, one.name):
            yield replace(plan, costs=replace(plan.costs, **{one.name: getattr(usual, one.name)}))
