"""Checkpoints of real queries, made once a session, and the bundle that the importer's child makes of one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from ingest.launch import ReplayLimits, run_import
from ingest.launch import child_environment as environment

ROOT = Path(__file__).resolve().parents[3]


def killed_queries(folder: Path, provider: str) -> Path:
    """All queries have run, and the last one's driver was killed between a batch's offsets and its commit."""
    program = Path(__file__).with_name("streaming_queries.py")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(program), str(folder / "queries"), provider],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment(), cwd=ROOT,
            start_new_session=True, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "in the batch\n":
                break
        else:
            raise AssertionError((folder / "log").read_text()[-4000:])
    finally:
        # Driver and JVM in one blow: nobody is left to commit.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return folder / "queries"


def imported(checkpoint: Path, out: Path) -> dict[str, Any]:
    """The child's answer; the bundle lies at `out`."""
    return run_import(checkpoint, out, "a query", 1 << 30, ReplayLimits(), out.parent / "import.log")


def copied(checkpoint: Path, to: Path) -> Path:
    shutil.copytree(checkpoint, to)
    return to
