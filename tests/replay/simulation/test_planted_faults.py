"""Worlds with a fault put back show it, and are made smaller."""

from __future__ import annotations

import pytest

from replay.simulation.plan import changed, changes
from replay.simulation.shrinking import smaller
from replay.simulation.trial import Verdict, shrunk, trial, trial_of
from replay.simulation.world import random_plan
from tests.replay.simulation import planted

MOST_WORLDS = 3000


def first_caught(plant: planted.Plant) -> Verdict:
    """The first world, from seed 0 on, that shows the fault."""
    for seed in range(MOST_WORLDS):
        with plant():
            faulty = trial(seed)
        if faulty.faults:
            return faulty
    pytest.fail(f"{plant.__name__} went unseen in {MOST_WORLDS} worlds")


@pytest.mark.parametrize("plant", planted.PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_caught(plant: planted.Plant) -> None:
    caught = first_caught(plant)
    assert not trial(caught.world.seed).faults, f"seed {caught.world.seed} shows a fault without the plant too"


def test_a_failing_world_is_made_smaller() -> None:
    with planted.sends_what_it_rebuilds():
        verdict = first_caught(planted.sends_what_it_rebuilds)
        small = shrunk(verdict)
        assert small.faults
        again = changed(random_plan(verdict.world.seed), changes(random_plan(verdict.world.seed), small.world.plan))
        assert trial_of(again).faults == small.faults, "the line that is printed shows the same again"
        assert not any(trial_of(plan).faults for plan in smaller(small.world.plan)), "no smaller one is left"
    before, after = verdict.world.plan, small.world.plan
    assert after.schedule.size <= before.schedule.size and after.events < before.events
    assert "--with" in small.world.reproduce_with
