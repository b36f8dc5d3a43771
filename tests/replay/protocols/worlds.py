"""Random worlds run under a protocol of choice: the graph, job, costs and strikes of a seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from replay.runtime.attempts.memory import Memory
from replay.simulation.settings import under
from replay.simulation.trial import trial_of
from replay.simulation.world import World, random_plan


def world_under(seed: int, protocol: str, **costs: Any) -> World:
    """The world of that seed under that protocol; `costs` in place of those that were drawn."""
    plan = random_plan(seed)
    settings = under(protocol, plan.protocol)
    memory = replace(plan.memory, determinant_pool_bytes=Memory().determinant_pool_bytes)
    return World(replace(plan, protocol=settings, memory=memory, costs=replace(plan.costs, **costs)))


def seeds_of(job: str) -> Iterator[int]:
    """The seeds whose worlds run that job."""
    return (seed for seed in count() if random_plan(seed).job == job)


def check_worlds(seeds: Iterable[int], protocol: str) -> None:
    """Runs them, and tells of the first that breaks a promise."""
    for seed in seeds:
        verdict = trial_of(world_under(seed, protocol).plan)
        assert not verdict.faults, f"{verdict.world.reproduce_with}\n{verdict.world.describes}\n{verdict.faults}"
