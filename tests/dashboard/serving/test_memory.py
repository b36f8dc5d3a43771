"""A command for which the address space is too small: one sentence, and no traceback."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from bench.server_process import ROOT

TOO_LITTLE = 300_000 << 10


def test_a_library_that_finds_no_room_is_told_in_a_sentence(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "replay", str(tmp_path / "bundle")],
        cwd=ROOT,
        env={**os.environ, "CLONOSCOPE_DATA": str(tmp_path / "data"), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (TOO_LITTLE, TOO_LITTLE)),
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("A library found no room in memory (")
    assert ran.stderr.endswith("Give the process more (ulimit -v), then try again.\n")
    assert "Traceback" not in ran.stderr
