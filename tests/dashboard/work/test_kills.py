"""Whatever process is killed at whatever moment: nothing is half there, and the next start ends all of it."""

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from tests.dashboard.work.conftest import write_bundle
from tests.dashboard.work.world import World

pytestmark = pytest.mark.slow

FIRST_SEED = int(os.environ.get("CLONOSCOPE_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("CLONOSCOPE_WORLDS", "6")))
ROUNDS = 25


@pytest.mark.parametrize("seed", SEEDS)
def test_no_kill_leaves_anything_half_done(seed: int, database: str, owner: User, tmp_path: Path) -> None:
    bundles = [write_bundle(tmp_path / "bundles" / name, name) for name in ("one", "two", "three")]
    world = World(seed, bundles, owner)
    world.run(ROUNDS)
    world.settle()
    world.check_settled()
    assert any(line.endswith("killed") for line in world.history), world.reproduce_with
