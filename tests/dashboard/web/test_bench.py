"""The bench of uploads, a short run: it measures the real way and ends with its numbers as JSON."""

import json
import subprocess
import sys

import pytest

from bench.server_process import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.slow]


def test_a_short_run_gives_its_numbers() -> None:
    command = [sys.executable, "-m", "bench.upload", "--events", "500", "--warm", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout.splitlines()[-1])
    assert 0 < numbers["warm_median_s"] < numbers["cold_s"]
