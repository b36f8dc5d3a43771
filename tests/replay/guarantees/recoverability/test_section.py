"""What the section on recoverability says of recordings under every protocol, and of what is missing."""

from __future__ import annotations

import json

import pytest

from replay.guarantees.recoverability import recoverability
from replay.protocols import PROTOCOLS
from replay.simulation.world import World
from tests.replay.debugger.worlds import MemoryMembers, bundle_of, recorded, world_of
from tests.replay.protocols.worlds import world_under

SEEDS = range(1, 13)


def members_under(seed: int, protocol: str) -> MemoryMembers:
    return recorded(world_under(seed, protocol))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_section_is_plain_json_and_its_numbers_agree(seed: int) -> None:
    world, members = world_of(seed)
    section = recoverability(bundle_of(members))
    told = json.loads(json.dumps(section.to_json()))
    assert told["name"] == "recoverability" and told["verdict"] and told["sentence"]
    if "heat" not in section.numbers:
        return
    for key, smallest in section.numbers["smallest"].items():
        in_time = [size for size in section.numbers["heat"][key] if size is not None]
        assert min(in_time, default=None) == smallest, world.reproduce_with
        least = [one["f"] for one in section.numbers["by_failures"][key] if not one["holds"]]
        assert min(least, default=None) == smallest, world.reproduce_with
        assert (section.numbers["examples"].get(key) is None) == (smallest is None), world.reproduce_with
    with_world, without = section.numbers["smallest"]["task_or_world"], section.numbers["smallest"]["task"]
    assert without is None or (with_world is not None and with_world <= without), world.reproduce_with


@pytest.mark.parametrize("seed", SEEDS)
def test_an_example_names_what_the_recording_has(seed: int) -> None:
    world, members = world_of(seed)
    section, bundle = recoverability(bundle_of(members)), bundle_of(members)
    for example in section.numbers.get("examples", {}).values():
        if example is None:
            continue
        task, attempt, thread, epoch = example["log"].split("/")
        kind, _, place = example["evidence"][0].partition(":")
        assert kind == "det", (example, world.reproduce_with)
        of, writer, thread_of, rest = place.split("/")
        seq = int(rest.partition("#")[2])
        offset, length, _ = list(bundle.determinants(of, int(writer), thread_of, int(epoch)))[seq]
        assert (of, thread_of) == (task, thread) and int(writer) <= int(attempt)
        assert offset <= example["offset"] < offset + length
        assert example["dependents"], world.reproduce_with
        if example["size"]:
            holders = {one["task"] for one in example["holders"]} - {"world"}
            assert not holders & {one["task"] for one in example["dependents"]}


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_every_protocol_has_its_answer(protocol: str) -> None:
    section = recoverability(bundle_of(members_under(5, protocol)))
    if protocol == "none":
        assert (section.verdict, section.good) == ("nothing is logged", False)
        assert section.numbers["contents"]["smallest"] == 1
    elif protocol == "coordinated":
        assert (section.verdict, section.good) == ("all go back", None)
    elif protocol == "pessimistic":
        assert (section.verdict, section.good) == ("any failures", True)
        assert any("Writes waited" in one.sentence for one in section.lacks)
    elif protocol == "optimistic":
        assert section.verdict == "some failures" and section.numbers["smallest"]["task"] in (0, 1)
    else:
        assert section.verdict in ("any failures", "some failures", "orphaned")


def test_a_smaller_depth_tolerates_no_more_than_a_greater_one() -> None:
    compared = 0
    for seed in SEEDS:
        section = recoverability(bundle_of(world_of(seed)[1]))
        for key in section.numbers.get("smallest", ()):
            exact = [one["smallest"][key][0] for one in section.numbers["depths"] if one["exact"]]
            sizes = [1 << 20 if size is None else size for size in exact]
            assert sizes == sorted(sizes), World.random(seed).reproduce_with
            compared += len(sizes)
    assert compared > 20


def test_what_is_missing_is_named_and_leaves_the_answer_open() -> None:
    _, members = world_of(15)
    assert recoverability(bundle_of(members)).verdict == "any failures"
    section = recoverability(bundle_of(members.without("/received-0/")))
    assert (section.verdict, section.good) == ("undecided", None)
    assert any("received-0" in one.wants for one in section.lacks)


def test_nobody_is_called_unsafe_where_deltas_are_missing() -> None:
    world, members = world_of(8)
    assert recoverability(bundle_of(members)).verdict == "some failures"
    names = [name for name in members.names() if name.endswith(".dlt")]
    section = recoverability(bundle_of(members.without(*names)))
    assert section.verdict == "undecided" and section.good is None, world.reproduce_with
    assert any(one.wants.endswith(".dlt") for one in section.lacks)


def test_a_source_without_records_is_not_said_to_be_replayable() -> None:
    _, members = world_of(15)
    section = recoverability(bundle_of(members.without("/source/")))
    assert not section.numbers["contents"]["decided"]
    assert any("/source/" in one.wants for one in section.lacks)
