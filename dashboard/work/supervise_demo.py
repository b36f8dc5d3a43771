"""The demo job of an empty store: recorded in a child process, then stored, ingested and replayed like any other."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from dashboard import jobs, store
from dashboard.models import Work
from dashboard.removal import remove_path
from dashboard.work import ending
from dashboard.work.claim import Claim, fenced, finish
from dashboard.work.lease import Lease
from ingest.lake.errors import OutOfReach
from replay.errors import BundleError

NAME = "demo: pass-through with one failure"
OPTIONS = (
    "pass-through", "--seed", "7", "--events", "16000", "--rate-per-s", "4000", "--depth", "4",
    "--kill", "map-1.0@1700",
)  # fmt: skip
LOOK_S = 0.1


class RecordingFailed(Exception):
    """The child ended without a bundle; what it said last is the sentence."""


def supervise(held: Claim, lease: Lease) -> None:
    staging = store.staging_path(held.work_id, held.attempt)
    staging.mkdir(parents=True, exist_ok=True)
    bundle = staging / "demo.tar.zst"
    try:
        if not record(OPTIONS, bundle, lease):
            ending.interrupted(held, lease)
            return
        _enter(held, bundle)
    except (RecordingFailed, BundleError, jobs.StoreFull, OutOfReach) as failure:
        ending.failed(held, f"The demo job could not be recorded: {failure}")
    finally:
        remove_path(staging)


def record(options: tuple[str, ...], out: Path, lease: Lease) -> bool:
    """Records in a child that ends with us; False if it was interrupted."""
    command = [sys.executable, "manage.py", "record", *options, "--out", str(out), "--end-with-parent"]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, cwd=settings.BASE_DIR) as child:
            while child.poll() is None:
                if lease.interrupted():
                    child.kill()
                    return False
                lease.lost.wait(LOOK_S)
        said.seek(0)
        words = said.read().decode(errors="replace").split("\n")
    if child.returncode != 0:
        last = next((line for line in reversed(words) if line.strip()), "it said nothing")
        raise RecordingFailed(f"the recorder ended with status {child.returncode}: {last}")
    return True


def _enter(held: Claim, bundle: Path) -> None:
    """The job enters and this work ends in one transaction: a second attempt can't make a second demo."""

    def end() -> None:
        with fenced(held) as work:
            finish(work, Work.State.DONE)

    owner = User.objects.get(username=held.target)
    jobs.create_job_from_file(owner, bundle, NAME, replay_when_ready=True, together_with=end)
