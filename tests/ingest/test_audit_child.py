"""An audit's child: its report is whole or not there, limits keep what was decided, and who asked can end it."""

import json
import os
import signal
from pathlib import Path

import pytest

from ingest.launch import IngestCancelled, Progress, ReplayChildDied, ReplayFailed, ReplayLimits, run_audit
from replay.guarantees.audit import PARTS
from tests.ingest.inprocess import ingested_here
from tests.ingest.processes import descendants
from tests.ingest.test_replay_child import pack_of


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_of(tmp_path_factory.mktemp("recorded"), seed=7, events=300, kills=("map-1.0@100",))


def test_it_tells_how_far_it_is_and_writes_its_report(pack: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    outcome = run_audit(pack, tmp_path / "report.json", ReplayLimits(), tmp_path / "log", told.append)
    report = json.loads((tmp_path / "report.json").read_text())
    assert outcome == {name: report[name] for name in outcome} and outcome["verdict"] == "exactly once"
    assert [one["name"] for one in report["sections"]] == list(PARTS)
    assert told and {one.total for one in told} == {len(PARTS)}


def test_at_a_limit_of_time_what_was_decided_stands(tmp_path: Path) -> None:
    """One second of CPU time is enough to begin with, and not for all of it."""
    large = pack_of(tmp_path, seed=7, events=5_000)
    run_audit(large, tmp_path / "report.json", ReplayLimits(cpu_s=1), tmp_path / "log")
    report = json.loads((tmp_path / "report.json").read_text())
    assert [one["name"] for one in report["sections"]] == list(PARTS)
    reached = [
        one for one in report["undecided"] if "limit of 1 s of CPU time (CLONOSCOPE_REPLAY_CPU_S)" in one["sentence"]
    ]
    assert reached and all("higher limit" in one["wants"] for one in reached)


def test_who_asked_can_end_it(pack: Path, tmp_path: Path) -> None:
    asked = iter([False])
    with pytest.raises(IngestCancelled):
        run_audit(pack, tmp_path / "report.json", ReplayLimits(), tmp_path / "log", cancelled=lambda: next(asked, True))


def test_a_child_that_is_killed_is_told_of(pack: Path, tmp_path: Path) -> None:
    def kill(_: Progress) -> None:
        for child, command in descendants(os.getpid()).items():
            if "ingest.jobs.audit" in command:
                os.kill(child, signal.SIGKILL)

    with pytest.raises(ReplayChildDied, match="SIGKILL"):
        run_audit(pack, tmp_path / "report.json", ReplayLimits(), tmp_path / "log", kill)
    assert not (tmp_path / "report.json").exists()


def test_a_bundle_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(ReplayFailed, match=r"gone\.pack"):
        run_audit(tmp_path / "gone.pack", tmp_path / "report.json", ReplayLimits(), tmp_path / "log")


def test_of_a_stored_job_its_tables_are_asked_and_without_them_its_recording(pack: Path, tmp_path: Path) -> None:
    _, result = ingested_here(pack, tmp_path / "data")
    assert result["status"] == "ready"
    said = []
    for job in ("j_1", "j_none"):
        lake = (tmp_path / "data", job)
        run_audit(pack, tmp_path / job, ReplayLimits(), tmp_path / f"{job}.log", lake=lake)
        report = json.loads((tmp_path / job).read_text())
        (section,) = [one for one in report["sections"] if one["name"] == "recoverability"]
        said.append((section["verdict"], section["sentence"], section["good"], section["numbers"]["heat"]))
    assert said[0] == said[1]
    told = [(tmp_path / f"{job}.log").read_text() for job in ("j_1", "j_none")]
    assert "could not be asked" not in told[0] and "the tables of j_none could not be asked" in told[1]
