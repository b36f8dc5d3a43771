"""The section on cuts: silent where all is well, and naming the buffer where a checkpoint or a recovery is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay.bundle.reader import Bundle
from replay.guarantees.claims import Section
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.section import consistent_cuts
from tests.replay.debugger.recordings import failing, one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of, world_of
from tests.replay.guarantees.cuts.oracle import Oracle
from tests.replay.guarantees.cuts.planting import binds, planted
from tests.replay.guarantees.cuts.test_cuts import recorded
from tests.replay.guarantees.observed.worlds import manifest


def changed(members: MemoryMembers, name: str, **numbers: dict[str, int]) -> Bundle:
    """With other numbers in a snapshot: of channels, so much more."""
    state: dict[str, Any] = json.loads(members.members[name])
    for side, by_channel in numbers.items():
        for channel, more in by_channel.items():
            state[side][channel] += more
    return bundle_of(members.with_(name, json.dumps(state).encode()))


def said(section: Section, verdict: str) -> list[str]:
    return [one.sentence for one in section.claims if one.verdict == verdict]


@pytest.mark.parametrize("seed", range(40))
def test_whoever_binds_or_rolls_back_leaves_no_orphan_and_has_consistent_checkpoints(seed: int) -> None:
    world, members = world_of(seed)
    protocol = world.manifest.protocol
    section = consistent_cuts(bundle_of(members))
    if protocol.name == "none" or not (protocol.logs or protocol.name == "coordinated"):
        return
    if protocol.on_lost == "rollback" or protocol.sharing_depth is None:
        assert (section.verdict, section.good) == ("consistent", True), (seed, section.sentence, section.lacks)
        assert section.numbers["inconsistent"] == section.numbers["orphans_at_the_end"] == 0


@pytest.mark.parametrize("seed", range(30))
def test_at_the_end_somebody_stands_on_what_was_never_sent_where_the_frames_say_so(seed: int) -> None:
    bundle, _ = recorded(seed)
    oracle, cuts = Oracle(bundle), Cuts.of(bundle)
    places = {task: (stand.attempt, stand.t_us) for task, stand in cuts.at(cuts.end_us).stands.items()}
    orphans = [oracle.orphans(c, places[c.source], places[c.target]) for c in bundle.graph.channels]
    section = consistent_cuts(bundle)
    assert section.numbers["orphans_at_the_end"] + section.numbers["open_at_the_end"] == sum(map(len, orphans)), seed
    if any(orphans):
        assert section.good is not True, seed


def test_a_snapshot_that_took_more_than_was_sent_is_found_with_the_buffer() -> None:
    members = failing(events=400)
    bundle = changed(members, "tasks/map-2.1/0/state/1.json", inputs={"map-1.1>map-2.1": 2})
    section = consistent_cuts(bundle)
    state = bundle.state("map-1.1", 0, 1)
    assert state is not None
    following = state["outputs"]["map-1.1>map-2.1"]
    assert (section.verdict, section.good) == ("inconsistent", False)
    claim = next(one for one in section.claims if one.verdict == "inconsistent")
    assert (
        claim.about == "checkpoint:1" and f"buffers {following} to {following + 1} of map-1.1>map-2.1" in claim.sentence
    )
    assert claim.evidence[:2] == ("state:map-2.1/0/1", "state:map-1.1/0/1")
    assert f"buffer:map-1.1>map-2.1/0#{following}" in claim.evidence
    assert section.numbers["checkpoints"][0] | {"completed_us": 0} == {
        "checkpoint": 1,
        "completed_us": 0,
        "verdict": "inconsistent",
        "orphans": 2,
        "in_flight": 0,
    }


def test_a_snapshot_that_forgot_what_it_took_is_found() -> None:
    bundle = changed(failing(events=400), "tasks/map-2.1/0/state/1.json", inputs={"map-1.1>map-2.1": -1})
    section = consistent_cuts(bundle)
    assert (section.verdict, section.good) == ("in flight", False)
    assert len(said(section, "in flight")) == 1


def test_a_snapshot_that_sent_less_than_was_taken_is_found() -> None:
    bundle = changed(failing(events=400), "tasks/map-1.1/0/state/1.json", outputs={"map-1.1>map-2.1": -1})
    assert consistent_cuts(bundle).verdict == "inconsistent"


def test_a_recovery_that_is_replayed_sends_again_what_others_had_taken() -> None:
    section = consistent_cuts(bundle_of(one_failure()))
    (failure,) = section.numbers["failures"]
    assert (
        failure["verdict"] == "rebuilt" and failure["rebuilt"] == failure["orphans"] > 0 and failure["sent_again"] > 0
    )
    assert failure["restored"] == {"map-1.0": 1}
    assert section.verdict == "consistent"


def test_by_checkpoints_alone_those_downstream_would_have_gone_back() -> None:
    section = consistent_cuts(bundle_of(one_failure()))
    (failure,) = section.numbers["failures"]
    back = {task for task, at in failure["line"].items() if at is not None}
    assert "map-1.0" in back and back - {"map-1.0"} <= {"map-2.0", "map-2.1", "sink.0", "sink.1"} and len(back) > 1
    assert all(failure["back_us"][task] > 0 for task in back)
    assert said(section, "recovery line")[0].endswith("did not go back.")


def test_coordinated_checkpoints_take_everybody_back_to_one_and_the_line_is_nowhere_before_it() -> None:
    section = consistent_cuts(bundle_of(one_failure(protocol="coordinated", sharing_depth=None)))
    (failure,) = section.numbers["failures"]
    assert failure["verdict"] == "rolled back" and set(failure["restored"].values()) == {1}
    assert len(failure["restored"]) == 8
    assert all(at is None or at >= 1 for at in failure["line"].values())


def test_a_missing_snapshot_leaves_it_undecided_and_is_named() -> None:
    bundle = bundle_of(failing(events=400).without("tasks/map-2.1/0/state/1.json"))
    section = consistent_cuts(bundle)
    assert (section.verdict, section.good) == ("undecided", None)
    assert [one.wants for one in section.lacks] == ["tasks/map-2.1/0/state/1.json"]


def test_a_damaged_member_leaves_it_undecided_and_the_rest_is_said() -> None:
    members = failing(events=400)
    name = "tasks/map-2.1/0/received-0/0.rcv"
    section = consistent_cuts(bundle_of(members.with_(name, members.members[name][:-7])))
    assert section.verdict == "undecided" and section.good is None
    assert [one.wants for one in section.lacks] == [name]
    assert said(section, "consistent")


def test_without_channels_nothing_is_claimed() -> None:
    bundle = bundle_of(MemoryMembers({"job.json": manifest().to_bytes()}))
    section = consistent_cuts(bundle)
    assert (section.verdict, section.good) == ("undecided", None) and section.lacks


@pytest.mark.parametrize("seed", range(12))
def test_a_snapshot_with_another_number_is_found_in_random_worlds(seed: int) -> None:
    found = planted(seed) if binds(seed) else None
    if found is not None:
        what, section = found
        assert section.good is False, (seed, what)
        assert any(one.verdict in ("inconsistent", "in flight") for one in section.claims), (seed, what)
