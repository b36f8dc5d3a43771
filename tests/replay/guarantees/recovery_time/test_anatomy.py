"""Recoveries over time: lanes that add up, groups, and a critical path without a gap from failure to end."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest

from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.recovery_time.anatomy import anatomy
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded

AT_ONCE = "map-1.0@900+map-2.0@900+sink.1@900"
WORLDS: dict[str, dict[str, Any]] = {
    "one": {"kills": ("map-1.0@900",)},
    "at once": {"depth": 5, "kills": (AT_ONCE,)},
    "without standby": {"standby": 0, "kills": ("map-1.0@900",)},
    "a source and a sink": {"kills": ("source.0@900", "sink.0@1400")},
    "rolled back": {"depth": 4, "sharing_depth": 1, "kills": ("map-1.0@900+map-2.0@900+map-2.1@900",)},
    "coordinated": {"protocol": "coordinated", "kills": ("map-1.0@900",)},
    "gaps": {"protocol": "none", "kills": ("map-1.0@900",)},
    "again": {"depth": 4, "kills": ("map-1.0@900",), "kills_in": ("map-1.0:Replaying",)},
}


@lru_cache
def bundle_of(world: str) -> Bundle:
    return recorded(RecordOptions(events=3_000, seed=5, **WORLDS[world]))


@pytest.fixture(scope="module", params=WORLDS)
def told(request: pytest.FixtureRequest) -> dict[str, Any]:
    return anatomy(bundle_of(request.param))


def test_parts_stand_one_behind_the_other(told: dict[str, Any]) -> None:
    for group in told["groups"]:
        for lane in group["lanes"]:
            assert all(one["to_us"] == after["from_us"] for one, after in pairwise(lane["spans"]))
            if lane["done_us"] is not None:
                assert lane["begun_us"] + sum(lane["parts"].values()) == lane["done_us"]
                assert lane["caught_up_us"] is None or lane["caught_up_us"] >= lane["done_us"]
            else:
                assert lane["lacking"]


def test_the_critical_path_goes_without_a_gap_from_the_failure_to_who_was_done_last(told: dict[str, Any]) -> None:
    for group in told["groups"]:
        path, lanes = group["path"], group["lanes"]
        done = [lane["done_us"] for lane in lanes if lane["done_us"] is not None]
        assert bool(path) == bool(done)
        if path:
            assert (path[0]["from_us"], path[-1]["to_us"]) == (group["begun_us"], max(done))
        for one, after in pairwise(path):
            assert one["to_us"] == after["from_us"], (one, after)
        for one in path:
            spans = [span for span in lanes[one["lane"]]["spans"] if span["part"] == one["part"]]
            assert any(span["from_us"] <= one["from_us"] < one["to_us"] <= span["to_us"] for span in spans)


def test_failures_at_once_are_one_group_and_those_apart_are_not() -> None:
    def tasks(world: str) -> list[list[str]]:
        return [sorted(lane["task"] for lane in group["lanes"]) for group in anatomy(bundle_of(world))["groups"]]

    assert tasks("at once") == [["map-1.0", "map-2.0", "sink.1"]]
    assert tasks("a source and a sink") == [["source.0"], ["sink.0"]]


def test_behind_a_task_that_rebuilds_its_input_another_one_waits() -> None:
    (group,) = anatomy(bundle_of("at once"))["groups"]
    hops = {(group["lanes"][one["lane"]]["task"], one["part"], one["after"]) for one in group["path"] if one["after"]}
    assert ("map-2.0", "replay", "map-1.0") in hops


def test_a_rollback_takes_every_task_along() -> None:
    (group,) = anatomy(bundle_of("rolled back"))["groups"]
    along = [lane for lane in group["lanes"] if lane["rollback"] is not None]
    assert {lane["task"] for lane in along} >= {"source.0", "source.1", "map-1.1", "sink.0", "sink.1", "map-1.0"}
    assert {lane["ended_by"] for lane in group["lanes"] if lane not in along} == {"rollback"}
    assert all(lane["predicted_us"] is None for lane in along)


def test_who_fails_while_it_recovers_has_to_do_again_what_the_first_attempt_had_done() -> None:
    (group,) = anatomy(bundle_of("again"))["groups"]
    first, second = group["lanes"]
    assert (first["ended_by"], second["attempt"]) == ("failure", 2)
    assert second["parts"]["replay"] > 1_000
    assert group["path"][0]["lane"] == 0 and group["path"][-1]["lane"] == 1


def test_what_lacks_is_named_and_nothing_is_drawn_for_it() -> None:
    bundle = bundle_of("one")
    members = {name: bundle.members.read(name) for name in bundle.members.names()}
    lines = members["events.ndjson"].splitlines(keepends=True)
    members["events.ndjson"] = b"".join(line for line in lines if b'"to":"Replaying"' not in line)
    (group,) = anatomy(Bundle(MembersInMemory(members)))["groups"]
    (lane,) = group["lanes"]
    assert (lane["missing"], lane["lacking"]) == ("ask", "events.ndjson: recovery-state to Replaying")
    assert [span["part"] for span in lane["spans"]] == ["detection", "connect"]
    assert group["path"] == []
