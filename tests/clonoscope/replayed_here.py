"""Replays by the command in forks of this process, where Spark's and Arrow's libraries are loaded already."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - before anything is forked
import pyarrow.compute  # noqa: F401
from pyspark.sql.streaming.state import GroupState  # noqa: F401

from clonoscope.command import main
from clonoscope.onsite.minimising import in_a_child


def replayed(site: Path, bundle: Path, task: str, *arguments: Any) -> dict[str, Any]:
    """What the command ends with, and its status, where the code is in that folder."""
    out = site / "said"

    def run() -> dict[str, Any]:
        os.chdir(site)
        with open(out, "w") as said, contextlib.redirect_stdout(said):
            status = main(["replay", str(bundle), "--task", task, *map(str, arguments), "--json"])
        return {"status": status}

    status = in_a_child(run)["status"]
    found: dict[str, Any] = json.loads(out.read_text().splitlines()[-1])
    return {**found, "status": status}
