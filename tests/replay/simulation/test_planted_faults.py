"""Worlds with a fault put back show it, and are made smaller."""

from __future__ import annotations

import re
from itertools import count, islice
from random import Random

import pytest

from replay.model import Edge, Protocol
from replay.runtime.costs import Costs
from replay.simulation.plan import Plan, changed, changes
from replay.simulation.schedule import Schedule
from replay.simulation.shrinking import smaller
from replay.simulation.trial import Verdict, shrunk, trial_of
from replay.simulation.workloads import PassingThrough
from replay.simulation.world import random_plan
from tests.replay.simulation import planted_clonos
from tests.replay.simulation.clonos_faults import ROWS
from tests.replay.simulation.planted import (
    FAILING_PLANTS,
    OUTSIDE_PLANTS,
    PLANTS,
    WIDE_PLANTS,
    Planted,
    sends_what_it_rebuilds,
)

pytestmark = pytest.mark.slow

MOST_WORLDS = 2000


def first_caught(planted: Planted) -> Verdict:
    """The first world, from seed 0 on, that shows the fault."""
    plans = map(planted.aimed, filter(planted.needs, map(random_plan, count())))
    for plan in islice(plans, MOST_WORLDS):
        with planted.plant():
            faulty = trial_of(plan)
        if faulty.faults:
            return faulty
    pytest.fail(f"{planted.plant.__name__} went unseen in {MOST_WORLDS} worlds")


@pytest.mark.parametrize("planted", (*PLANTS, *OUTSIDE_PLANTS, *FAILING_PLANTS), ids=lambda one: one.plant.__name__)
def test_a_planted_fault_is_caught(planted: Planted) -> None:
    caught = first_caught(planted)
    assert not trial_of(caught.world.plan).faults, f"{caught.world.reproduce_with} shows a fault without the plant too"


def wide_plan() -> Plan:
    """A hundred and thirty tasks between one and one: their outputs and inputs don't fit into a signed byte."""
    draw = Random(1)
    sizes = {"source": 1, "map-1": 130, "map-2": 1, "sink": 1}
    return Plan(
        seed=1,
        job="pass-through",
        vertices=tuple(PassingThrough().vertex(draw, name, size) for name, size in sizes.items()),
        edges=(Edge("source", "map-1", "broadcast"), Edge("map-1", "map-2", "hash"), Edge("map-2", "sink", "hash")),
        protocol=Protocol("clonos", standby=1, checkpoint_interval_ms=10_000, buffer_bytes=200),
        events=4,
        rate_per_s=100.0,
        costs=Costs(metric_us=10_000_000, flush_us=500),
        jitter=0.8,
        schedule=Schedule(blows=((("source.0", 60.0), ("map-1.129", 60.0)), (("map-2.0", 2_000.0),))),
    )


@pytest.mark.parametrize("planted", WIDE_PLANTS, ids=lambda one: one.plant.__name__)
def test_a_fault_of_wide_graphs_is_caught(planted: Planted) -> None:
    assert not trial_of(wide_plan()).faults
    with planted.plant():
        assert trial_of(wide_plan()).faults


def test_every_row_of_the_table_of_faults_is_planted() -> None:
    assert {one.row for one in (*PLANTS, *WIDE_PLANTS)} - {None} == set(ROWS)


def test_copies_that_disagree_are_named_with_both_holders() -> None:
    """The damage alone, with the engine as it is: corrupt, not healed in silence."""
    for plan in filter(two_answer, map(random_plan, range(400))):
        with planted_clonos.a_damaged_copy():
            faults = trial_of(plan).faults
        if any("hold different bytes" in fault for fault in faults):
            assert re.search(r"\S+ and \S+ hold different bytes of", faults[0])
            return
    pytest.fail("no two copies met")


def two_answer(plan: Plan) -> bool:
    return bool(plan.schedule.size) and plan.protocol.sharing_depth != 0


def test_a_failing_world_is_made_smaller() -> None:
    with sends_what_it_rebuilds():
        verdict = first_caught(Planted(sends_what_it_rebuilds))
        small = shrunk(verdict)
        assert small.faults
        again = changed(random_plan(verdict.world.seed), changes(random_plan(verdict.world.seed), small.world.plan))
        assert trial_of(again).faults == small.faults, "the line that is printed shows the same again"
        assert not any(trial_of(plan).faults for plan in smaller(small.world.plan)), "no smaller one is left"
    before, after = verdict.world.plan, small.world.plan
    assert after.schedule.size <= before.schedule.size and after.events < before.events
    assert "--with" in small.world.reproduce_with
