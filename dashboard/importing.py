"""What is uploaded or ingested and is no bundle, but what another engine left: it becomes one, in a child process."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from dashboard.work.supervise_replay import replay_limits
from ingest.launch import ReplayChildDied, ReplayFailed, run_import
from replay.bundle.containers import open_container
from replay.bundle.limits import Limits
from replay.bundle.pack import PackSummary, write_pack
from replay.errors import BundleError, NoManifest

SECONDS = 120
# Whether an importer looks at it closely; most uploads without a manifest are told apart by this.
_A_BATCH = re.compile(r"(?:.*/)?offsets/[0-9]{1,18}")


def packed(path: Path, fresh: Path, limits: Limits, name: str, admit: Callable[[int], None]) -> tuple[PackSummary, str]:
    """Writes the pack of the bundle at `path`, or of what an importer makes of it; and what it came in."""
    try:
        with closing(open_container(path, limits)) as container:
            return write_pack(container, fresh, limits, admit=admit), container.kind
    except NoManifest as missing:
        if not may_be_imported(missing.members):
            raise
        return _imported(path, fresh, limits, name, admit)


def may_be_imported(names: Iterable[str]) -> bool:
    """By the names of its members: a query's checkpoint with at least one batch, or measurements."""
    known = set(names)
    ends = {one.rpartition("/")[2] for one in known}
    return (any(_A_BATCH.fullmatch(one) for one in known) and "metadata" in ends) or {"throughput", "latency"} <= ends


def _imported(
    path: Path, fresh: Path, limits: Limits, name: str, admit: Callable[[int], None]
) -> tuple[PackSummary, str]:
    child_limits = replace(replay_limits(), cpu_s=SECONDS, wall_s=SECONDS)
    # Named after the job, so that no sweeper takes it for a leftover while it is at work, and any does after a kill.
    with tempfile.TemporaryDirectory(prefix=f"{fresh.stem}.", dir=fresh.parent) as folder:
        out = Path(folder) / "bundle"
        try:
            log_path = settings.DATA / "logs" / "replays.log"
            came = run_import(path, out, name, limits.max_bytes, child_limits, log_path)
        except (ReplayFailed, ReplayChildDied) as failure:
            said = str(failure).rstrip(".")
            raise BundleError(said, path=name, remedy="Copy the folder again, or leave older versions out") from None
        if "refused" in came:
            fault = came["refused"]
            raise BundleError(fault["why"], path=fault["path"], offset=fault["offset"], remedy=fault["remedy"])
        with closing(open_container(out, limits)) as container:
            return write_pack(container, fresh, limits, admit=admit), str(came["kind"])
