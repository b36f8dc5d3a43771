"""Runs worlds one after the other, and makes the failing schedule of one smaller."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from replay.simulation.checks import violations
from replay.simulation.world import Schedule, World


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one world showed; no faults is good."""

    world: World
    faults: tuple[str, ...]


def trial(seed: int, schedule: Schedule | None = None) -> Verdict:
    """Runs the world of a seed. A fault is a check that fails, or anything that is raised."""
    world = World.random(seed, schedule)
    try:
        recording = world.run()
        faults = [f"{one.survivor} holds more of {one.what} than {one.recovering} got" for one in world.overlooked]
        return Verdict(world, (*faults, *violations(recording)))
    except Exception as fault:  # the edge: whatever a world raises is its verdict
        last = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return Verdict(world, (f"{type(fault).__name__} in {where}: {fault}",))


def failing(seeds: Iterable[int]) -> Iterator[Verdict]:
    """The worlds that show a fault."""
    for seed in seeds:
        verdict = trial(seed)
        if verdict.faults:
            yield verdict


def shrunk(verdict: Verdict) -> Verdict:
    """The same world with as few strikes as still show a fault."""
    while True:
        smaller = (trial(verdict.world.seed, one) for one in verdict.world.schedule.smaller())
        found = next((one for one in smaller if one.faults), None)
        if found is None:
            return verdict
        verdict = found
