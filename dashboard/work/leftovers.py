"""Removing what killed processes left: files that no row speaks for. Rows are the truth."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from dashboard import store
from dashboard.models import Job, JobAudit, Replay, Work
from dashboard.removal import remove_path
from dashboard.uploads.sweep import remove_abandoned
from ingest.lake import places
from ingest.lake.errors import LakeOutOfReach, NotPublished
from ingest.lake.places import InBucket, Place
from ingest.lake.publish import VERSIONS, lake_root, published_folder, unpublish
from replay.bundle.pack import is_growing

log = logging.getLogger("clonoscope.work")

SWITCH_GRACE_S = 60


def remove() -> list[Place]:
    """Safe beside running work and arriving bundles, in this process and in others; what was removed."""
    removed: list[Place] = [*_staging(), *_packs(), *_lake(), *_bucket(), *_replays(), *_audits(), *_logs()]
    removed += remove_abandoned()
    for path in removed:
        log.info("removed a leftover: %s", path)
    return removed


def _staging() -> Iterable[Path]:
    """A staging folder lives as long as the attempt it is named after holds its work."""
    for folder in _entries(settings.STAGING):
        if not _attempt_runs(folder.name):
            remove_path(folder)
            yield folder


def _packs() -> Iterable[Path]:
    for pack in [*_entries(store.bundles()), *_entries(store.incoming())]:
        job_id = store.job_of(pack)
        if job_id and store.is_entering(job_id):
            continue
        # Asked after the guard: a job that has just entered has its row by now.
        half_made = pack.parent == store.incoming() or pack.name.startswith(".") or _is_data_of_nothing(pack)
        if half_made or not Job.objects.filter(id=job_id).exists():
            remove_path(pack)
            yield pack


def _is_data_of_nothing(path: Path) -> bool:
    """The bytes of a growing pack that is one file by now."""
    pack = path.with_suffix(".pack")
    return path.suffix == ".data" and pack.exists() and not is_growing(pack)


def _lake() -> Iterable[Path]:
    """Jobs without a row; versions that neither a link points to nor a running attempt is about to publish."""
    for link in _entries(settings.LAKE):
        if link.name.startswith("j_") and not Job.objects.filter(id=link.name).exists():
            remove_path(link)
            yield link
    yield from _versions(settings.LAKE)
    yield from _half_switched(settings.LAKE)


def _bucket() -> Iterable[Place]:
    """What of a lake in a bucket is left over. Where it does not answer now, the next sweep asks again."""
    lake = lake_root(settings.LAKE_ROOT)
    try:
        return list(_in_bucket(lake)) if isinstance(lake, InBucket) else ()
    except (LakeOutOfReach, OSError) as fault:
        log.warning("the lake was not swept: %s", fault)
        return ()


def _in_bucket(lake: InBucket) -> Iterable[Place]:
    """Pointers without a row, versions that no pointer names; and, in the data folder, paths kept of these.

    Attempts are asked for before pointers: in one transaction an attempt ends and its version is pointed to.
    """
    names = places.names_in(lake / VERSIONS)
    idle = [name for name in names if not _attempt_runs(name.partition(".")[2])]
    for name in idle:
        job = name.partition(".")[0]
        if not _is_published(job, lake / VERSIONS / name):
            places.remove(lake / VERSIONS / name)
            yield lake / VERSIONS / name
    for job in places.names_in(lake):
        if job.startswith("j_") and not Job.objects.filter(id=job).exists():
            unpublish(settings.LAKE_ROOT, job)
            yield lake / job
    for kept in _entries(store.kept_paths()):
        if kept.name not in names:
            remove_path(kept)
            yield kept


def _is_published(job: str, version: Place) -> bool:
    try:
        return published_folder(settings.LAKE_ROOT, job) == version
    except NotPublished:
        return False


def _replays() -> Iterable[Path]:
    for entry in _entries(store.replays()):
        if not entry.name.startswith("r_") or store.is_entering(entry.name):
            continue
        if not Replay.objects.filter(id=entry.name).exists():
            remove_path(entry)
            yield entry
    yield from _versions(store.replays())
    yield from _half_switched(store.replays())


def _audits() -> Iterable[Path]:
    """Reports that no row shows. Asked for the attempt first: in one transaction it ends and its report is shown."""
    for report in _entries(store.audits()):
        if _attempt_runs(report.name.split(".")[1] if report.name.count(".") > 1 else ""):
            continue
        if not JobAudit.objects.filter(report=report.name).exists():
            remove_path(report)
            yield report


def _logs() -> Iterable[Path]:
    """Of jobs that are gone. A log begins after its job's row was committed."""
    for path in _entries(store.log_path("").parent):
        if not Job.objects.filter(id=store.job_of(path)).exists():
            remove_path(path)
            yield path


def _half_switched(lake: Path) -> Iterable[Path]:
    """A link made to replace another, its maker killed in between. Only the link goes, never what it points to."""
    for link in _entries(lake):
        if link.is_symlink() and link.name.startswith(".") and time.time() - link.lstat().st_mtime > SWITCH_GRACE_S:
            link.unlink(missing_ok=True)
            yield link


def _versions(lake: Path) -> Iterable[Path]:
    for version in _entries(lake / ".versions"):
        target, _, work_attempt = version.name.partition(".")
        if _attempt_runs(work_attempt) or store.is_entering(target):
            continue
        link = lake / target
        if not link.is_symlink() or link.resolve() != version.resolve():
            shutil.rmtree(version, ignore_errors=True)
            yield version


def _attempt_runs(work_attempt: str) -> bool:
    work_id, _, attempt = work_attempt.partition("-")
    if not (work_id.isdigit() and attempt.isdigit()):
        return False
    return Work.objects.filter(id=int(work_id), attempt=int(attempt), state=Work.State.RUNNING).exists()


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
