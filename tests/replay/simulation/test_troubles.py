"""What is aimed at is met: each moment and each way to strike happens in random worlds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from replay.runtime.attempts.memory import Memory
from replay.simulation.schedule import Aim, Schedule
from replay.simulation.trial import trial_of
from replay.simulation.world import World, random_plan

WORLDS = 12


def failures_after(aim: Aim, sink: str = "plain", **chosen: object) -> Counter[str]:
    """By cause, in the worlds of some seeds in which nothing else goes wrong."""
    found: Counter[str] = Counter()
    for seed in range(WORLDS):
        plan = random_plan(seed)
        protocol = replace(plan.protocol, name="clonos", sharing_depth=None, sink=sink, **chosen)
        memory = replace(plan.memory, determinant_pool_bytes=Memory().determinant_pool_bytes)
        verdict = trial_of(replace(plan, protocol=protocol, memory=memory, schedule=Schedule(aims=(aim,))))
        assert not verdict.faults, f"{verdict.world.reproduce_with}\n{verdict.faults}"
        found.update(_causes(verdict.world))
    return found


def _causes(world: World) -> list[str]:
    events = bytes(world.members.members["events.ndjson"]).splitlines()
    failed = [line for line in events if b'"type":"task-failed"' in line]
    return [line.split(b'"cause":"')[1].split(b'"')[0].decode() for line in failed]


@pytest.mark.parametrize("event", ["upload-began", "flush-began", "checkpoint-triggered"])
def test_a_task_is_killed_where_it_was_aimed_at(event: str) -> None:
    assert failures_after(Aim(event, 1, "self", 5), "idempotent")["killed"] > 3


@pytest.mark.parametrize(
    ("way", "cause"),
    [("kill", "killed"), ("host", "host killed"), ("standby", "host killed"), ("suspect", "suspected")],
)
def test_each_way_to_strike_strikes(way: str, cause: str) -> None:
    assert failures_after(Aim("checkpoint-completed", 0, "any", 10, 3, way), standby=1)[cause] > 3


def test_whoever_is_suspected_can_be_struck_in_that_moment() -> None:
    plan = random_plan(4)
    aims = (Aim("checkpoint-triggered", 0, "any", 0, 1, "suspect"), Aim("suspected", 0, "downstream", 0))
    world = World(replace(plan, schedule=Schedule(aims=aims)))
    world.run()
    assert Counter(_causes(world)) >= Counter({"suspected": 1, "killed": 1}), world.reproduce_with
