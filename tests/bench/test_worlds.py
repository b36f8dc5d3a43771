"""The bench of random worlds runs them in several processes and ends with its numbers."""

import json
import subprocess
import sys


def test_a_short_run_finds_no_fault_and_ends_with_its_numbers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.worlds", "--worlds", "30", "--jobs", "2", "--seed", "3"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report.pop("seconds") > 0
    assert report == {"worlds": 30, "first_seed": 3, "processes": 2, "faults": 0, "seeds": []}
