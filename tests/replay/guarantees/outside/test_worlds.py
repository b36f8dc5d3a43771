"""The outside of random jobs of which the truth is known: no verdict and no claim is wrong, and what can be told is."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.guarantees.claims import Section
from replay.guarantees.outside import outside
from tests.replay.guarantees.outside.worlds import World

SEEDS = range(250)
VERDICTS = {"exactly once", "at least once", "at most once", "neither", "undecided"}


def judged(world: World, folder: Path) -> Section:
    path = world.write(folder / "bundle.zip")
    try:
        with open_bundle(path) as bundle:
            return outside(bundle, world.rows(), world.how, world.topics())
    finally:
        path.unlink()


def check(world: World, found: Section) -> None:
    truth, told = world.truth(), (world.seed, world.truth(), world.damage, world.style, str(world.how), found)
    assert found.verdict in ("undecided", truth), told
    assert found.good is not False or truth != "exactly once", told
    assert (found.good is True) == (found.verdict == "exactly once"), told
    twice, lost = {one.key for one in world.twice()}, {one.key for one in world.lost()}
    made_up = {str(n) for n, one in enumerate(world.given) if one.of is None}
    for claim in found.claims:
        if claim.verdict == "neither":
            assert {one.partition("#")[2] for one in claim.evidence} <= made_up, told
        else:
            true = lost if claim.verdict == "at most once" else twice
            assert _named(world, claim.evidence) & true, (told, claim)
    joined = not world.given or any(one.of is not None for one in world.given)
    if world.sharp and world.finished() and joined:
        assert found.verdict == truth, told
        counts = tuple(found.numbers[name] for name in ("twice", "lost", "made_up"))
        assert counts == (len(twice), len(lost), len(made_up)), told


def _named(world: World, evidence: tuple[str, ...]) -> set[str]:
    """The keys of the records that a claim names, by the lines of the sources that it names."""
    lines = (one.removeprefix("source:p.") for one in evidence if one.startswith("source:"))
    numbers = (tuple(map(int, one.replace("#", "/").split("/"))) for one in lines)
    return {world.written[task, attempt, number].key for task, attempt, number in numbers}


def examine(seeds: range, folder: Path) -> Counter[tuple[str, str]]:
    """Verdicts by truth."""
    seen: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        world = World.random(seed)
        found = judged(world, folder)
        check(world, found)
        seen[world.truth(), found.verdict] += 1
        if world.damage:
            seen[world.damage, found.verdict] += 1
    return seen


def test_no_verdict_is_wrong_and_what_is_recorded_whole_is_decided(tmp_path: Path) -> None:
    seen = examine(SEEDS, tmp_path)
    for truth in VERDICTS - {"undecided"}:
        assert seen[truth, truth] and seen[truth, "undecided"], seen
    assert {verdict for _, verdict in seen} == VERDICTS


@pytest.mark.parametrize("seed", range(40))
def test_the_same_world_is_judged_the_same(seed: int, tmp_path: Path) -> None:
    first, second = (judged(World.random(seed), tmp_path).to_json() for _ in range(2))
    assert first == second, seed


if __name__ == "__main__":
    import tempfile

    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for found, number in sorted(examine(range(first, first + count), Path(folder)).items()):
            print(*found, number, sep="\t")
