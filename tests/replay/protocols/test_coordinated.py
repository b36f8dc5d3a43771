"""Coordinated checkpoints: any failure rolls everything back, states count once, and nothing is logged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions, WrongOption
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle_reader import complaints
from tests.replay.protocols.worlds import check_worlds, world_under

WORLDS = 90


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_random_worlds_hold_what_coordinated_checkpoints_promise(first: int) -> None:
    check_worlds(range(first, first + 30), "coordinated")


def test_a_rollback_costs_cancelling_deploying_and_loading() -> None:
    quick, slow = (world_under(9, "coordinated", cancel_us=us, deploy_us=us).run() for us in (100, 100_000))
    away = [_time_away_us(one.events) for one in (quick, slow)]
    assert away[0] and away[1] > away[0] + 100_000, "seed 9"


def _time_away_us(events: list[dict[str, object]]) -> int:
    """From the rollback to the last restore."""
    start = next(int(str(one["t_us"])) for one in events if one["type"] == "global-rollback")
    return max(int(str(one["t_us"])) for one in events if one["type"] == "state-restored") - start


def test_an_independent_reader_accepts_a_recording_of_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = RecordOptions(
        protocol="coordinated", seed=7, events=2000, checkpoint_interval_ms=200, kills=("map-1.0@310", "sink.0@620")
    )
    summary = record(options, out, protocols=PROTOCOLS)
    assert complaints(out) == []
    assert len(summary["failures"]) == 2
    assert summary["determinant_bytes"] == summary["delta_bytes"] == 0
    protocol = json.loads((out / "job.json").read_bytes())["protocol"]
    assert (protocol["name"], protocol["sharing_depth"], protocol["standby"]) == ("coordinated", 0, 0)


def test_its_recoveries_are_not_replayed_by_rules_of_another_protocol(tmp_path: Path) -> None:
    out = tmp_path / "out"
    record(RecordOptions(protocol="coordinated", events=500, kills=("map-1.0@110",)), out, protocols=PROTOCOLS)
    outcome = replay(open_bundle(out), failure=0)
    assert outcome.verdict == "free"
    assert "the protocol coordinated logs nothing" in outcome.sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sharing_depth": 2}, "--protocol coordinated shares no determinants"),
        ({"standby": 2}, "--protocol coordinated deploys all tasks anew"),
    ],
    ids=["sharing depth", "standby"],
)
def test_what_it_has_no_use_for_is_refused(tmp_path: Path, options: dict[str, int], sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        record(RecordOptions(protocol="coordinated", **options), tmp_path / "out", protocols=PROTOCOLS)
