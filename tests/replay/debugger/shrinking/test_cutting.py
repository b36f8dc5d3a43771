"""A recording that contradicts itself is cut down to what still does, and to nothing less."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.debugger.shrinking.cutting import ends_in, way_of
from replay.debugger.shrinking.shrink import Shrunk, shrink
from replay.errors import ReplayError
from tests.replay.debugger.diverging import planted
from tests.replay.debugger.diverging.plants import PLANTERS, Plant, sink_altered, source_altered
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

pytestmark = pytest.mark.slow

# What these two alter is found by executing, or not at all: nothing contradicts itself before.
_EXECUTED = (source_altered, sink_altered)
SEEDS = [seed for seed in range(100, 100 + len(PLANTERS)) if PLANTERS[seed % len(PLANTERS)] not in _EXECUTED]
SMALL = {"events": 80, "depth": 4, "parallelism": 1, "checkpoint_interval_ms": 10, "kills": ("map-1.0@14",)}


@cache
def small() -> MemoryMembers:
    with pytest.MonkeyPatch.context() as patch:
        return planted.recorded_with(planted.Sound, patch, **SMALL)


def contradicting(seed: int) -> Plant | None:
    """One that parts before anything is executed; None where that planter finds nothing, or something else."""
    plant = PLANTERS[seed % len(PLANTERS)](random.Random(f"plant {seed}"), small())
    if plant is None:
        return None
    try:
        outcome = replay(bundle_of(plant.members), failure=0)
    except ReplayError:
        return None
    return plant if outcome.verdict == "diverged" and "records" not in outcome.detail else None


def way(members: dict[str, bytes], asked: dict[str, Any]) -> Any:
    try:
        return way_of(replay(bundle_of(MemoryMembers(members)), **asked))
    except ReplayError as fault:
        return str(fault)


def is_the_smallest(made: Shrunk) -> list[str]:
    """What could still go, by trying all of it: none of the members, and the last piece of none."""
    kept, asked = made.members.members, dict(made.asked)
    wanted, found = way(kept, asked), []
    for name, data in kept.items():
        if name != "job.json" and way({one: kept[one] for one in kept if one != name}, asked) == wanted:
            found.append(name)
        ends = ends_in(name, data)
        if ends and way({**kept, name: data[: ends[-1]]}, asked) == wanted:
            found.append(f"{name} from {ends[-1]}")
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_contradicts_itself_in_the_same_way_and_nothing_of_it_can_go(seed: int, tmp_path: Path) -> None:
    for following in range(seed, seed + 20 * len(PLANTERS), len(PLANTERS)):
        if (plant := contradicting(following)) is not None:
            break
    else:
        pytest.fail(
            f"nothing contradicts itself that {PLANTERS[seed % len(PLANTERS)].__name__} plants, from seed {seed}"
        )
    whole = replay(bundle_of(plant.members), failure=0)
    made = shrink(bundle_of(plant.members), failure=0)
    where = f"seed {following}: {plant.kind}: {whole.sentence}"
    assert made.of_what == "members" and way_of(made.outcome) == way_of(whole), where
    for name in ("member", "offset", "byte", "channel", "buffer", "event"):
        assert made.outcome.detail.get(name) == whole.detail.get(name), where
    # How much smaller depends on how much of a recording is held against the rest: what stays is what that needs.
    assert made.left < made.of and made.size_bytes < sum(map(len, plant.members.members.values())), where
    assert is_the_smallest(made) == [], where
    again = shrink(bundle_of(plant.members), failure=0)
    assert again.members.members == made.members.members, where
    for name, data in made.members.members.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    with open_bundle(tmp_path) as bundle:
        assert way_of(replay(bundle, **made.asked)) == way_of(whole), where
        assert bundle.manifest.raw["excerpt"]["members"] == made.left, where
