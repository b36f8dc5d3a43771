"""What sharing cost, and what another depth would have done, as the page gets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from replay.causality import depths
from replay.causality.life import lives
from replay.causality.paths import causal_path
from replay.causality.sharing import sharing
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.replay.debugger.worlds import MemoryMembers, bundle_of, world_of

BOTH_FAIL = ("map-1.0@180+map-2.0@180",)


def recorded(out: Path, **options: Any) -> Path:
    settings: dict[str, Any] = {"seed": 3, "events": 1200, "depth": 4, "checkpoint_interval_ms": 100}
    record(RecordOptions(**settings | options), out, protocols=PROTOCOLS)
    return out


def answer(recording: Path, task: str = "map-1.0", attempt: int = 0) -> dict[str, Any]:
    with open_bundle(recording) as bundle:
        return sharing(bundle, task, attempt)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("sharing") / "full", kills=BOTH_FAIL)


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("sharing") / "shallow", kills=BOTH_FAIL, sharing_depth=1)


def test_bytes_are_told_by_hop_and_channel(full: Path) -> None:
    found = answer(full)
    assert [one["hop"] for one in found["hops"]] == [1, 2]
    for one in (*found["hops"], *found["channels"]):
        assert one["bytes"] == one["new"] + one["again"] + one["unarrived"] > 0 and one["sendings"] > 0
    for one in found["hops"]:
        those = [channel for channel in found["channels"] if channel["hop"] == one["hop"]]
        assert (len(those), sum(channel["bytes"] for channel in those)) == (one["channels"], one["bytes"])
    assert (found["sharing_depth"], found["deepest"]) == (None, 2)


def test_where_all_receivers_fail_depth_1_is_too_shallow(full: Path) -> None:
    found = answer(full)
    assert [(one["depth"], one["found"]) for one in found["depths"]] == [(0, False), (1, False), (2, True)]
    assert found["smallest"] == 2 and found["undecided"] == [] and found["check"]["unlike"] == 0
    assert [one["recorded"] for one in found["depths"]] == [False, False, True]
    lacking = found["depths"][1]["lacking"]
    assert lacking and all(one["held"] < one["needed"] and one["by"] for one in lacking)
    assert found["failure"]["failure"] == 0 and found["failure"]["needed_bytes"] > 0
    assert found["depths"][2]["bytes"] == sum(one["bytes"] for one in found["hops"])
    nobody = found["depths"][0]
    assert {nobody[name] for name in ("bytes", "sendings", "holders", "whole")} == {0}
    assert [one["held"] for one in nobody["lacking"]] == [0] * len(lacking)


def test_of_a_shallow_recording_that_was_rolled_back_a_deeper_one_would_have_done(shallow: Path) -> None:
    found = answer(shallow)
    assert [one["found"] for one in found["depths"]] == [False, False, True]
    assert [one["recorded"] for one in found["depths"]] == [False, True, False]


def test_recorded_again_at_another_depth_a_job_shares_what_was_computed(tmp_path: Path) -> None:
    """Where heavier deltas move no buffer: with this seed they move none."""
    again = [recorded(tmp_path / str(n), seed=5, depth=5, sharing_depth=n) for n in (1, 2, None)]
    for task in ("source.0", "map-1.0", "map-2.1"):
        one, *others = ([_cost(row) for row in answer(each, task)["depths"]] for each in again)
        assert one == others[0] == others[1], f"{task}, seed 5"
        assert one[-1]["bytes"] > one[1]["bytes"] > 0


def _cost(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "recorded"}


def test_what_is_new_on_a_channel_is_what_the_path_tells() -> None:
    for seed in range(1, 25):
        world, members = world_of(seed)
        bundle = bundle_of(members)
        known = lives(bundle.events())
        for task in bundle.tasks():
            if 0 not in bundle.attempts(task) or any(life.lingers for life in known.get(task, ())):
                continue
            path, found = causal_path(bundle, task, 0), sharing(bundle, task, 0)
            new = {one["channel"]: one["new"] for one in found["channels"] if one["new"]}
            assert new == {one["channel"]: one["bytes"] for one in path["channels"]}, f"{task}: {world.reproduce_with}"


@pytest.mark.parametrize(
    ("options", "why"), [({"protocol": "pessimistic"}, "stable storage"), ({"sharing_depth": 0}, "nothing was logged")]
)
def test_where_depth_means_nothing_that_is_said(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    found = answer(recorded(tmp_path / "job", events=300, **options))
    assert found["depths"] == [] and why in found["why_no_depths"] and found["smallest"] is None
    assert bool(found["hops"]) == ("protocol" in options)


@pytest.mark.parametrize("left", [None, 0.5])
@pytest.mark.parametrize("name", ["map-2.0/0/sent-0/1.buf", "map-2.0/0/sent-0/1.dlt", "sink.0/0/received-0/1.rcv"])
def test_what_is_damaged_leaves_it_undecided(full: Path, name: str, left: float | None) -> None:
    if left is None and name.endswith(".rcv"):
        return  # nobody can tell that anything arrived
    with open_bundle(full) as bundle:
        members = {name: bundle.members.read(name) for name in bundle.members.names("")}
    whole = members.pop(f"tasks/{name}")
    if left is not None:
        members[f"tasks/{name}"] = whole[: int(len(whole) * left) - 1]
    found = sharing(bundle_of(MemoryMembers(members)), "map-1.0", 0)
    assert found["undecided"] and {one["found"] for one in found["depths"]} == {None}
    assert found["smallest"] is None


def test_depths_that_are_too_much_to_follow_are_given_up(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depths, "MOST_EXTENTS", 50)
    found = answer(full)
    assert [one["followed"] for one in found["depths"]] == [True, False, True], "what was recorded is never given up"
    assert [one["found"] for one in found["depths"]] == [False, None, True]
    assert found["smallest"] is None, "depth 1 might do"


def test_prints_one_line_of_json(full: Path) -> None:
    command = [sys.executable, "-m", "replay.causality", str(full), "--task", "map-1.0", "--sharing"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == json.loads(json.dumps(answer(full)))
