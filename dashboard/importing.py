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
CHECKPOINT = "spark-checkpoint"
# Whether it is one the importer looks at closely; most uploads without a manifest are told apart by this.
_LOOKS_SO = re.compile(r"(?:.*/)?offsets/[0-9]{1,18}")


def packed(path: Path, fresh: Path, limits: Limits, name: str, admit: Callable[[int], None]) -> tuple[PackSummary, str]:
    """Writes the pack of the bundle at `path`, or of what an importer makes of it; and what it came in."""
    try:
        with closing(open_container(path, limits)) as container:
            return write_pack(container, fresh, limits, admit=admit), container.kind
    except NoManifest as missing:
        if not looks_like_a_checkpoint(missing.members):
            raise
        return _imported(path, fresh, limits, name, admit)


def looks_like_a_checkpoint(names: Iterable[str]) -> bool:
    """By the names of its members: of a query, and with at least one batch."""
    known = set(names)
    return any(_LOOKS_SO.fullmatch(one) for one in known) and any(one.rpartition("/")[2] == "metadata" for one in known)


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
            return write_pack(container, fresh, limits, admit=admit), CHECKPOINT
