"""Recoverability from a job's tables against plain Python over its recording, on random worlds with failures."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from ingest.lake.recoverability.of_lake import LakeCausality, recoverability_of_stored
from replay.guarantees.recoverability import recoverability
from replay.guarantees.recoverability.course import bucket_ends
from replay.guarantees.recoverability.failing import orphaned_by
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.port import Question
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed
from tests.replay.debugger.worlds import bundle_of, world_of
from tests.replay.guarantees.recoverability.test_failing import some_of

BASE = [Question(by, world) for by in ("task", "host") for world in (False, True)]


def check(seed: int, folder: Path) -> int:
    """How many answers over time were compared."""
    world, members = world_of(seed)
    bundle = bundle_of(members)
    if not bundle.manifest.protocol.logs:
        return 0
    job, _ = ingested_here(packed(seed, folder), folder / "data")
    plain, stored = BundleCausality(bundle), LakeCausality(bundle, job)
    deeper = [
        Question(one.by, one.world, depth, least) for one in BASE for depth in (1, 2, 3) for least in (True, False)
    ]
    questions = BASE if bundle.manifest.protocol.in_storage else [*BASE, *deeper]
    ends = bucket_ends(plain.course.end_us, 50)
    expected, found = plain.sweep(questions, ends), stored.sweep(questions, ends)
    for one in questions:
        assert found.worst[one].steps == expected.worst[one].steps, f"{one}: {world.reproduce_with}"
        assert found.worst[one].first_us == expected.worst[one].first_us, f"{one}: {world.reproduce_with}"
    assert found.surplus == expected.surplus, world.reproduce_with
    assert sorted(found.lost) == sorted(expected.lost), world.reproduce_with
    assert found.uncertain_us == expected.uncertain_us, world.reproduce_with
    return len(questions)


@pytest.mark.parametrize("seed", range(1, 17))
def test_the_tables_tell_what_the_recording_does(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.parametrize("seed", range(1, 13))
def test_a_set_of_failures_is_answered_alike(seed: int, tmp_path: Path) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    if not bundle.manifest.protocol.logs:
        return
    job, _ = ingested_here(packed(seed, tmp_path), tmp_path / "data")
    plain, stored, draw = BundleCausality(bundle), LakeCausality(bundle, job), Random(seed)
    assert stored.course.end_us == plain.course.end_us
    moments = [one["t_us"] for one in bundle.events()]
    for t_us in draw.sample(moments, min(12, len(moments))):
        alive = [str(task.id) for task in bundle.graph.tasks]
        for one in some_of(draw, t_us, alive, set(plain.course.hosts.values())):
            assert sorted(orphaned_by(stored, one)) == sorted(orphaned_by(plain, one)), f"{one}: {world.reproduce_with}"


@pytest.mark.parametrize("seed", (2, 8, 10, 15))
def test_the_section_is_the_same_but_for_the_example(seed: int, tmp_path: Path) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    job, _ = ingested_here(packed(seed, tmp_path), tmp_path / "data")
    expected, found = recoverability(bundle), recoverability_of_stored(bundle, job)
    assert (found.verdict, found.sentence, found.good) == (expected.verdict, expected.sentence, expected.good)
    assert {**found.numbers, "examples": 0} == {**expected.numbers, "examples": 0}, world.reproduce_with
    assert sorted(map(repr, found.lacks)) == sorted(map(repr, expected.lacks)), world.reproduce_with
    for key, example in expected.numbers["examples"].items():
        ours = found.numbers["examples"][key]
        assert (ours is None) == (example is None)
        if example is not None:
            assert [ours[name] for name in ("size", "at_us")] == [example[name] for name in ("size", "at_us")]
            assert ours["evidence"] and ours["dependents"]
