"""The verdicts of the ledger against what was seen while random worlds ran: never wrong, undecided only in need."""

import pytest

from bench.truths.plants import KINDS
from bench.truths.trials import Said, trial
from bench.truths.worlds import known_world
from replay.guarantees.ledger import delivery, ledger, processing
from replay.guarantees.ledger.verdicts import together, verdict_of


@pytest.mark.parametrize("block", range(6))
def test_verdicts_are_what_is_so(block: int) -> None:
    for seed in range(7_000 + block * 10, 7_010 + block * 10):
        found = trial(seed)
        assert not found.faults, f"world {seed} ({found.setting}): {found.faults}"
        undecided = [one for one in found.said if one.verdict == "undecided" and one.truth is not None]
        assert not undecided, f"world {seed} ({found.setting}): {undecided}"


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(6_100_399, id="a checkpoint passes by an attempt because of the one before, which was suspected"),
        pytest.param(6_101_181, id="an attempt that was suspected fails again for choices that are lost"),
        pytest.param(9_820_015, id="an answer comes to a relay that escalated, before all is rolled back"),
    ],
)
def test_what_happens_seldom_is_no_contradiction(seed: int) -> None:
    assert trial(seed).faults == []


@pytest.mark.parametrize("seed", range(7_200, 7_206))
def test_planted_faults_are_named_and_never_called_exactly_once(seed: int) -> None:
    """Of 8 kinds each, in turn: all kinds are planted in every two worlds."""
    found = trial(seed, plants=len(KINDS) // 2)
    assert not found.faults, f"world {seed}: {found.faults}"
    for plant in found.plants:
        where = f"world {seed}, {plant.kind} in {plant.member}: {plant.how}"
        assert plant.how in ("precisely", "roughly"), where
        assert not plant.wrong and not _is_exact(plant.said), where


def _is_exact(said: tuple[Said, ...]) -> bool:
    return all(one.verdict == "exactly once" for one in said)


def test_every_buffer_is_in_the_ledger_once() -> None:
    for seed in range(7_100, 7_110):
        known = known_world(seed)
        counted = ledger(known.bundle).numbers
        for channel in known.bundle.graph.channels:
            counts = counted["channels"][channel.id]
            frames = [
                frame
                for attempt in known.bundle.attempts(channel.source)
                for frame in known.bundle.buffers(channel.source, attempt, channel.k)
            ]
            assert counts["cut"] + counts["rebuilt"] == len(frames), f"world {seed}"
            assert counts["sent"] - counts["lost"] == counts["received"], f"world {seed}"
            assert counts["received"] - counts["not_taken"] == counts["taken"], f"world {seed}"


def test_calls_with_an_effect_that_were_made_again_are_those_that_the_outside_was_asked_again() -> None:
    asked_again = 0
    for seed in (*range(20_000, 20_006), 7_016):
        known = known_world(seed)
        if any(name.endswith(".det") for name in known.members):
            assert delivery(known.bundle).numbers["calls_again"] == known.truth.calls_again, f"world {seed}"
            asked_again += known.truth.calls_again
    assert asked_again, "no world made a call again"


def test_what_was_proven_comes_before_what_is_not_known() -> None:
    assert verdict_of(twice=True, lost=False, undecided=True) == "at least once"
    assert together(["exactly once", "undecided"]) == "undecided"
    assert together(["at least once", "at most once"]) == "neither"
    assert together([]) == "undecided"


def test_no_member_that_is_gone_leaves_exactly_once() -> None:
    """What a sink gave says nothing of states; all else that shows what was taken says something of both."""
    known = known_world(7_001)
    assert known.truth.delivery == "exactly once"
    for name in sorted(known.members):
        if name.endswith((".buf", ".rcv", ".dlt")) or "/sink/" in name or name == "events.ndjson":
            lacking = known.without(name)
            assert delivery(lacking).verdict == "undecided", name
            assert "/sink/" in name or processing(lacking).verdict == "undecided", name
