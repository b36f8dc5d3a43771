"""What `record` says of a run agrees with what its recording holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle.outside import written_records
from tests.oracle_reader import Recording


def run(out: Path, **options: Any) -> tuple[dict[str, Any], Recording]:
    chosen = {"seed": 7, "events": 1500, "checkpoint_interval_ms": 150, **options}
    return record(RecordOptions(**chosen), out, protocols=PROTOCOLS), Recording(out)


@pytest.mark.parametrize(
    "options",
    [
        {"kills": ("sink.0@310", "sink.1@480")},
        {"kills": ("map-1.0@310+map-2.0@310",), "sharing_depth": 1, "depth": 4},
        {"kills": ("map-1.0@310",), "sharing_depth": 0},
        {"kills": ("sink.0@310", "map-1.1@420"), "protocol": "coordinated"},
    ],
    ids=["sinks", "rollback", "depth 0", "coordinated"],
)
def test_duplicates_are_what_sinks_gave_since_the_checkpoint_that_they_went_back_to(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    summary, recording = run(tmp_path / "out", **options)
    counted, again = written_records(recording)
    assert summary["duplicates"] == len(again)
    assert summary["records_written"] == len(counted) + len(again)
    assert summary["losses"] == 0


def test_losses_are_the_source_records_of_which_nothing_came_out(tmp_path: Path) -> None:
    summary, recording = run(tmp_path / "out", protocol="none", kills=("map-1.0@310",))
    counted, again = written_records(recording)
    named = {name for one in (*counted, *again) for name in one.names}
    assert summary["losses"] == summary["records"] - len(named) > 0
    assert summary["duplicates"] == 0


def test_of_a_job_that_selects_nobody_can_say_what_was_lost(tmp_path: Path) -> None:
    summary, _ = run(tmp_path / "out", job="nexmark-q2")
    assert summary["losses"] is None


def test_determinants_by_kind_are_those_of_the_recording(tmp_path: Path) -> None:
    summary, recording = run(tmp_path / "out", kills=("map-1.0@310",))
    threads = {(task, attempt, thread) for task, attempt, thread, suffix in recording.members if suffix == "det"}
    found = Counter(kind for one in threads for _, _, kind, _ in recording.determinants(*one))
    assert summary["logs"]["determinants"] == dict(found)
    assert sum(summary["logs"]["determinant_bytes"].values()) == summary["determinant_bytes"]


def test_the_phases_of_a_recovery_are_the_times_of_its_events(tmp_path: Path) -> None:
    summary, recording = run(tmp_path / "out", kills=("map-1.0@310",))
    (failure,) = summary["failures"]
    told = {one["phase"]: one["us"] for one in failure["phases"]}
    # Standbys load checkpoints too; their events name no attempt.
    ours = (one for one in recording.events if "failure" in one or one.get("attempt") == 1)
    times = {one["type"]: one["t_us"] for one in ours}
    failed_us = times["task-failed"]
    states = {one["to"]: one["t_us"] - failed_us for one in recording.events if one["type"] == "recovery-state"}
    assert states.items() <= told.items()
    assert told["detected"] == times["failure-detected"] - failed_us
    assert told["restored"] == times["state-restored"] - failed_us
    assert list(told.values()) == sorted(told.values())


def test_kills_that_meet_nothing_are_named(tmp_path: Path) -> None:
    summary, _ = run(tmp_path / "out", kills=("host-1@310", "host-1@311"))
    assert summary["kills_not_made"] == ["host-1@311"]
