"""Runs worlds, and makes what fails smaller."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from replay.errors import PoolExhausted, WrongSetting
from replay.simulation.checks import violations
from replay.simulation.plan import Plan
from replay.simulation.refusals import roomier, untrue
from replay.simulation.shrinking import smaller
from replay.simulation.world import World, random_plan


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one world showed; no faults is good. `refused`: its settings do not go together, so it showed nothing."""

    world: World
    faults: tuple[str, ...]
    refused: bool = False


def trial(seed: int) -> Verdict:
    """Runs the world of a seed."""
    return trial_of(random_plan(seed))


def trial_of(plan: Plan) -> Verdict:
    """Runs the world of a plan. A fault is a check that fails, or anything that is raised.

    A sentence about its settings is none where it is true; then the world is run with room enough, and looked at so.
    """
    world = World(plan)
    try:
        return Verdict(world, _faults(world))
    except (PoolExhausted, WrongSetting) as fault:
        if world.engine is None or not world.engine.scheduler.actions:
            return Verdict(world, (_told(fault),), refused=True)
        return Verdict(world, _faults_with_room(world, fault))
    except Exception as fault:  # the edge: whatever a world raises is its verdict
        return Verdict(world, (_told(fault),))


def _faults(world: World) -> tuple[str, ...]:
    recording = world.run()
    faults = [f"{one.survivor} holds more of {one.what} than {one.recovering} got" for one in world.overlooked]
    return (*faults, *violations(recording))


def _faults_with_room(world: World, said: PoolExhausted | WrongSetting) -> tuple[str, ...]:
    roomy = World(roomier(world.plan, said))
    try:
        return (*_faults(roomy), *untrue(world, said, roomy))
    except (PoolExhausted, WrongSetting) as fault:
        # Of another kind: where there was room for what was said first, what comes next is said next.
        return _faults_with_room(roomy, fault) if type(fault) is not type(said) else (_told(fault),)
    except Exception as fault:  # the same edge
        return (_told(fault),)


def _told(fault: Exception) -> str:
    last = traceback.extract_tb(fault.__traceback__)[-1]
    where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
    return f"{type(fault).__name__} in {where}: {fault}"


def failing(seeds: Iterable[int]) -> Iterator[Verdict]:
    """The worlds that show a fault."""
    for seed in seeds:
        verdict = trial(seed)
        if verdict.faults:
            yield verdict


def shrunk(verdict: Verdict, trials: int = 400) -> Verdict:
    """A smaller world that still shows a fault: fewer strikes first, then records, parallelism, settings."""
    found: Verdict | None = verdict
    while found is not None:
        verdict, found = found, None
        for plan in smaller(verdict.world.plan):
            trials -= 1
            attempted = trial_of(plan)
            if attempted.faults and not attempted.refused:
                found = attempted
                break
            if not trials:
                return verdict
    return verdict
