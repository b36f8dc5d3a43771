"""Every job is recorded under every protocol, and what a protocol has no use for is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.jobs.options import RecordOptions, WrongOption
from replay.jobs.record import record
from replay.protocols import PROTOCOLS

OTHERS = sorted(set(PROTOCOLS) - {"clonos"})


@pytest.mark.parametrize("protocol", OTHERS)
@pytest.mark.parametrize("options", [{"sharing_depth": 1}, {"sink": "determinant"}], ids=["sharing depth", "sink"])
def test_what_only_shared_determinants_are_good_for_is_refused(tmp_path: Path, protocol: str, options: dict) -> None:
    with pytest.raises(WrongOption, match=f"--protocol {protocol}"):
        record(RecordOptions(protocol=protocol, **options), tmp_path / "out", protocols=PROTOCOLS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("protocol", ["coordinated", "none"])
@pytest.mark.parametrize("options", [{"spill": "eager"}, {"delta_layout": "grouping"}], ids=["spill", "layout"])
def test_what_only_logs_are_good_for_is_refused(tmp_path: Path, protocol: str, options: dict) -> None:
    with pytest.raises(WrongOption, match=f"--protocol {protocol}"):
        record(RecordOptions(protocol=protocol, **options), tmp_path / "out", protocols=PROTOCOLS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("protocol", OTHERS)
@pytest.mark.parametrize("job", ["nexmark-q3", "word-count", "windowed", "enrich"])
def test_other_jobs_are_recorded_with_failures(tmp_path: Path, job: str, protocol: str) -> None:
    options = RecordOptions(
        job=job,
        protocol=protocol,
        seed=5,
        events=600,
        checkpoint_interval_ms=60,
        sink="transactional",
        kills=("sink.0@90", "sink.1@200"),
    )
    summary = record(options, tmp_path / "out", protocols=PROTOCOLS)
    assert len(summary["failures"]) == 2
    assert summary["checkpoints_completed"] > 0
