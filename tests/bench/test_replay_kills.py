"""A few real kills of the children of real replays, as `python -m bench.replay_kills` deals them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.server_process import ROOT


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_no_kill_of_a_replay_at_work_changes_what_it_comes_to(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "bench.replay_kills", "--times", "4", "--events", "8000", "--seed", "2"]
    ran = subprocess.run(
        [*line, "--data", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=880
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report["kills"] >= 4 and report["half_done"] == [] and len(report["by_kind"]) > 1, report
