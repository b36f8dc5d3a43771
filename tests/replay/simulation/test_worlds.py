"""Random worlds hold what is promised: hundreds here, and as many as one likes by `python -m bench.worlds`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from replay.errors import ReplayError
from replay.simulation.plan import changed, changes
from replay.simulation.shrinking import smaller
from replay.simulation.world import World, random_plan
from tests.oracle_reader import complaints
from tests.replay.simulation.blocks import BLOCK, run_block

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(0, 400, BLOCK))
def test_random_worlds_hold_what_is_promised(first: int) -> None:
    run_block(first)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_an_independent_reader_accepts_a_worlds_recording(seed: int, tmp_path: Path) -> None:
    plan = random_plan(seed)
    # Choices that were given up are not shared, and not every buffer brings what the reader looks for.
    protocol = replace(plan.protocol, on_lost="rollback")
    world = World(replace(plan, protocol=protocol, memory=replace(plan.memory, determinant_pool_bytes=None)))
    world.run()
    for name, data in world.members.members.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert complaints(tmp_path) == [], world.reproduce_with


def test_the_same_seed_is_the_same_world() -> None:
    one, other = World.random(12), World.random(12)
    one.run()
    other.run()
    assert one.members.members == other.members.members


def test_the_command_says_how_many_worlds_it_ran() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replay.simulation", "--worlds", "3", "--seed", "5"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 worlds from seed 5, 0 with a fault" in done.stdout


@pytest.mark.parametrize("seed", range(40))
def test_the_changes_from_a_plan_to_a_smaller_one_make_the_smaller_one(seed: int) -> None:
    plan = random_plan(seed)
    for one in smaller(plan):
        assert changed(plan, changes(plan, one)) == one
    assert changes(plan, plan) == "{}"


def test_changes_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ReplayError, match="changes to the plan"):
        changed(random_plan(1), '{"events":')


def test_processes_side_by_side_find_what_one_finds() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replay.simulation", "--worlds", "60", "--seed", "20", "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "60 worlds from seed 20, 0 with a fault" in done.stdout
