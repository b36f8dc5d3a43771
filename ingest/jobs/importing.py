"""What another engine left behind, written as a bundle, in a child process: hostile bytes stay away from the server."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from ingest.importers import measurements, spark_checkpoint
from ingest.jobs.answering import answer
from ingest.jobs.lifeline import Command
from replay.bundle.containers import open_container
from replay.bundle.limits import Limits
from replay.bundle.writer import BundleWriter
from replay.errors import BundleError, ReplayError


def run(request: Command) -> dict[str, Any]:
    """Writes the bundle to `out`."""
    path, limits = Path(request["path"]), Limits(max_bytes=request["max_bytes"])
    with closing(open_container(path, limits)) as container:
        names = {name for name, _, _ in container.members()}
    if spark_checkpoint.is_checkpoint(names):
        kind, write_bundle = "spark-checkpoint", spark_checkpoint.write_bundle
    elif measurements.are_measurements(names):
        kind, write_bundle = "measurements", measurements.write_bundle
    else:
        raise BundleError("this is nothing that an importer understands", path=path.name)
    with BundleWriter(request["out"]) as writer, closing(open_container(path, limits)) as container:
        write_bundle(container, names, writer, request["name"], limits)
    return {"kind": kind}


def _refused(fault: ReplayError) -> dict[str, Any]:
    """What is damaged is an answer too, with its place."""
    told = {"why": fault.why, "path": fault.path, "offset": fault.offset, "remedy": fault.remedy}
    return {"outcome": {"refused": told}}


def main() -> int:
    return answer("the import", run, refused=_refused)


if __name__ == "__main__":
    sys.exit(main())
