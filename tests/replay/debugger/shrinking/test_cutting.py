"""A recording that contradicts itself is cut down to what still does, and to nothing less."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.debugger.shrinking import cutting
from replay.debugger.shrinking.cutting import ends_in, way_of
from replay.debugger.shrinking.groups import groups_of
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
    assert made.smallest
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


def test_it_ends_where_more_was_tried_than_may_be_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot of another task than the one whose recovery is replayed: all that a recovery needs has to stay."""
    plant = next(plant for seed in range(11, 400, len(PLANTERS)) if (plant := contradicting(seed)) is not None)
    assert plant.kind == "snapshot altered"
    monkeypatch.setattr(cutting, "MOST_REPLAYED_BYTES", 1 << 20)
    monkeypatch.setattr(cutting, "FEWEST_TRIED", 10)
    whole = replay(bundle_of(plant.members), failure=0)
    tries: list[int] = []
    made = shrink(bundle_of(plant.members), failure=0, on_try=lambda tried, left: tries.append(left))
    size = sum(map(len, plant.members.members.values()))
    assert not made.smallest and made.tried == len(tries) <= max(10, (1 << 20) // made.size_bytes + 1)
    assert way_of(made.outcome) == way_of(whole) and made.size_bytes < size
    assert made.members.members == shrink(bundle_of(plant.members), failure=0).members.members


def test_what_belongs_together_is_what_names_say() -> None:
    names = [
        "job.json", "events.ndjson", "tasks/a.0/0/main/0.det", "tasks/a.0/0/main/1.det", "tasks/a.0/0/out-0/1.det",
        "tasks/a.0/0/sent-0/1.buf", "tasks/a.0/0/sent-0/1.dlt", "tasks/b.0/1/received-0/1.rcv",
        "tasks/b.0/1/sites.ndjson",
    ]  # fmt: skip
    found = [set(one) for one in groups_of(dict.fromkeys(names, b"x"))]
    assert {"tasks/a.0/0/main/0.det", "tasks/a.0/0/main/1.det"} in found  # of one kind
    assert {"tasks/a.0/0/sent-0/1.dlt"} in found and {"tasks/b.0/1/received-0/1.rcv"} in found
    assert {one for one in names if "/1." in one} in found  # of one epoch
    assert {one for one in names if "/b.0/" in one} in found  # of one task
    assert not any({"job.json", "events.ndjson"} & one for one in found) and len(found) == len({*map(frozenset, found)})
