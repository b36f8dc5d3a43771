"""The causal path of an attempt, as the page gets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from replay.causality.paths import MAX_GROWTH_ROWS, causal_path
from replay.errors import ReplayError
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paths") / "job"
    options = RecordOptions(
        seed=3, events=1200, depth=4, checkpoint_interval_ms=100, sharing_depth=1, kills=("map-1.0@200",)
    )
    record(options, out, protocols=PROTOCOLS)
    return out


def test_tells_how_far_an_attempts_log_travelled_until_it_failed(recording: Path) -> None:
    with open_bundle(recording) as bundle:
        path = causal_path(bundle, "map-1.0", 0)
        assert (path["ended_by"], path["failure"], path["ended_us"]) == ("failure", 0, 200_000)
        assert path["log_bytes"] == sum(log["bytes"] for log in path["logs"]) > 0
        assert {one["hops"] for one in path["holders"]} == {1}
        assert {one["task"] for one in path["stopped"]} == {"sink.0", "sink.1"}, "the sharing depth is 1"
        for holder in path["holders"]:
            assert holder["bytes"] == sum(log["upto"] for log in holder["logs"]) <= path["log_bytes"]
            assert holder["growth"][-1]["held_bytes"] == holder["bytes"]
            assert len(holder["growth"]) == min(holder["growth_rows"], MAX_GROWTH_ROWS)
            for row in holder["growth"]:
                assert row["before"] < row["upto"] and row["sent_us"] <= row["received_us"] <= path["ended_us"]
        carried = sum(channel["bytes"] for channel in path["channels"])
        assert carried == sum(holder["bytes"] for holder in path["holders"])


def test_the_next_attempt_has_a_path_of_its_own(recording: Path) -> None:
    with open_bundle(recording) as bundle:
        path = causal_path(bundle, "map-1.0", 1)
        assert path["ended_by"] == "end of the recording"
        assert all(row["received_us"] > 200_000 for one in path["holders"] for row in one["growth"])


@pytest.mark.parametrize("task, attempt, why", [("map-9.0", 0, "no task map-9.0"), ("map-1.0", 7, "no attempt 7")])
def test_what_is_not_there_is_named(recording: Path, task: str, attempt: int, why: str) -> None:
    with open_bundle(recording) as bundle, pytest.raises(ReplayError, match=why):
        causal_path(bundle, task, attempt)


def test_prints_one_line_of_json(recording: Path) -> None:
    command = [sys.executable, "-m", "replay.causality", str(recording), "--task", "map-1.0", "--attempt", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    with open_bundle(recording) as bundle:
        assert json.loads(done.stdout) == json.loads(json.dumps(causal_path(bundle, "map-1.0", 0)))
    missing = subprocess.run([*command[:-1], "9"], capture_output=True, text=True, check=False, timeout=60)
    assert missing.returncode == 1 and "no attempt 9" in json.loads(missing.stdout)["error"]


@pytest.mark.parametrize(
    ("options", "task", "hops"),
    [
        ({"protocol": "pessimistic"}, "map-1.0", 1),
        ({"sink": "determinant"}, "sink.0", 1),
        ({"sink": "determinant"}, "map-1.0", 2),
    ],
)
def test_a_log_that_was_left_outside_of_the_graph_is_followed_there(
    tmp_path: Path, options: dict[str, Any], task: str, hops: int
) -> None:
    record(
        RecordOptions(seed=3, events=400, checkpoint_interval_ms=60, **options), tmp_path / "job", protocols=PROTOCOLS
    )
    with open_bundle(tmp_path / "job") as bundle:
        path = causal_path(bundle, task, 0)
    world = path["holders"][-1]
    assert (world["holder"], world["hops"]) == ("world", hops)
    assert 0 < world["bytes"] <= path["log_bytes"] and path["faults"] == []
    left = [one for one in path["channels"] if one["to"] == "world"]
    assert {one["from"] for one in left} == {row["sender"] for row in world["growth"]}
    if "protocol" in options:
        assert {one["why"] for one in path["stopped"]} == {"determinants go to the stable storage alone"}
