"""Recoverability of recordings of random worlds, up to twelve tasks, against every set of failures at some moments."""

from __future__ import annotations

import pytest

from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.port import Question
from tests.replay.debugger.worlds import bundle_of, world_of
from tests.replay.guarantees.recoverability.brute_force import Definition
from tests.replay.guarantees.recoverability.worlds import Remembering, ask_at

MOST_TASKS = 12
QUESTIONS = [Question(by, world) for by in ("task", "host") for world in (False, True)]


def check(seed: int, samples: int = 5) -> int:
    """How many answers were compared."""
    world, members = world_of(seed)
    bundle = bundle_of(members)
    if not bundle.manifest.protocol.logs or len(bundle.tasks()) > MOST_TASKS:
        return 0
    causality, raw, events = BundleCausality(bundle), Remembering(members.members), list(bundle.events())
    found = causality.sweep(QUESTIONS, [causality.course.end_us])
    moments = sorted(
        {one["t_us"] for one in events} | {t_us for one in QUESTIONS for t_us, _ in found.worst[one].steps}
    )
    compared, definition = 0, Definition(events, [], [])
    for t_us in moments[seed % 3 :: max(1, len(moments) // samples)]:
        ask_at(definition, raw, causality, t_us)
        for one in QUESTIONS:
            expected = definition.answer(t_us, by=one.by, world=one.world)
            assert found.worst[one].at(t_us) == expected, f"{one} at {t_us} us: {world.reproduce_with}"
            compared += 1
    return compared


@pytest.mark.parametrize("seed", range(1, 25))
def test_the_smallest_set_is_what_trying_all_sets_finds(seed: int) -> None:
    check(seed)


def test_full_depth_leaves_no_orphans_among_tasks() -> None:
    """What causal logging promises, and the recording shows: Depend(e) ⊆ Log(e) at every moment."""
    looked = 0
    for seed in range(1, 40):
        world, members = world_of(seed)
        protocol = world.manifest.protocol
        if protocol.name != "clonos" or protocol.sharing_depth is not None:
            continue
        causality = BundleCausality(bundle_of(members))
        found = causality.sweep(QUESTIONS, [causality.course.end_us])
        assert found.worst[Question()].smallest is None, world.reproduce_with
        looked += 1
    assert looked > 3
