"""Random worlds hold what is promised; worlds with a fault put back do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from replay.simulation.trial import shrunk, trial
from replay.simulation.world import World
from tests.replay.simulation import planted
from tests.replay.simulation.reader import complaints_about

WORLDS = 240
CHUNK = 30

# A seed whose world shows the fault; found by looking through the first worlds, and looked for again if it moves.
SEEDS = {
    planted.counts_received_over_a_lifetime: 17,
    planted.does_not_log_an_ignored_checkpoint_again: 190,
    planted.never_fires_at_the_head_of_a_log: 342,
    planted.logs_an_interruption_before_what_came_before_it: 190,
    planted.relays_without_its_own_copy: 28,
    planted.shares_no_main_log: 0,
    planted.sends_what_it_rebuilds: 0,
    planted.interrupts_before_it_has_caught_up: 444,
    planted.answers_before_it_has_heard_all_again: 41,
    planted.keeps_half_a_record: 3,
}


@pytest.mark.parametrize("first", range(0, WORLDS, CHUNK))
def test_random_worlds_hold_what_is_promised(first: int) -> None:
    for seed in range(first, first + CHUNK):
        verdict = trial(seed)
        assert not verdict.faults, f"{verdict.world.reproduce_with}\n{verdict.world.describes}\n{verdict.faults}"


@pytest.mark.parametrize("plant", planted.PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_caught(plant: planted.Plant) -> None:
    for seed in (SEEDS[plant], *range(500)):
        with plant():
            faulty = trial(seed)
        if faulty.faults:
            assert not trial(seed).faults, f"seed {seed} shows a fault without the plant too"
            return
    pytest.fail(f"{plant.__name__} went unseen in 500 worlds")


def test_a_failing_schedule_is_made_smaller() -> None:
    seed = SEEDS[planted.counts_received_over_a_lifetime]
    with planted.counts_received_over_a_lifetime():
        verdict = trial(seed)
        small = shrunk(verdict)
        assert small.faults
        assert all(not trial(seed, one).faults for one in small.world.schedule.smaller())
    assert small.world.schedule.size <= verdict.world.schedule.size


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_an_independent_reader_accepts_a_worlds_recording(seed: int, tmp_path: Path) -> None:
    world = World.random(seed)
    world.run()
    for name, data in world.members.members.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    depth = world.manifest.protocol.sharing_depth
    assert complaints_about(tmp_path, sharing_depth=depth) == [], world.reproduce_with


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
