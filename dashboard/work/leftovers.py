"""What killed processes left: files that no row speaks for. Rows are the truth."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.conf import settings

from dashboard import bundles, copies, store
from dashboard.models import Job, JobAudit, Replay, Work
from dashboard.removal import remove_path
from dashboard.uploads.sweep import remove_abandoned
from dashboard.work import owner
from ingest.lake import places
from ingest.lake.errors import LakeOutOfReach, NotPublished
from ingest.lake.places import InBucket, Place
from ingest.lake.publish import VERSIONS, lake_root, published_folder, unpublish
from replay.bundle.pack import is_growing

log = logging.getLogger("clonoscope.work")

SWITCH_GRACE_S = 60
_OBJECT = re.compile(r"j_[0-9a-z]{12}\.pack")


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that nobody will miss, and how it goes."""

    place: Place
    remove: Callable[[], object]


def remove() -> list[Place]:
    """Safe beside running work and arriving bundles, in this process and in others; what was removed."""
    removed = list[Place]()
    for one in found():
        try:
            one.remove()  # at once: what was nobody's a while ago may be somebody's by now
        except (LakeOutOfReach, OSError) as fault:
            log.warning("a leftover was not removed, the next sweep tries again: %s", fault)
            continue
        removed.append(one.place)
    removed += remove_abandoned()
    copies.trim()
    for path in removed:
        log.info("removed a leftover: %s", path)
    return removed


def found() -> Iterator[Leftover]:
    """All of it, but for uploads that nobody will finish: they may take days."""
    for look in (_staging, _packs, _objects, _copies, _lake, _bucket, _replays, _audits, _logs):
        yield from look()


def _of(path: Path) -> Leftover:
    return Leftover(path, partial(remove_path, path))


def _staging() -> Iterator[Leftover]:
    """A staging folder lives as long as the attempt it is named after holds its work."""
    for folder in _entries(settings.STAGING):
        if not _attempt_runs(folder.name):
            yield _of(folder)


def _packs() -> Iterator[Leftover]:
    for pack in [*_entries(store.bundles()), *_entries(store.incoming())]:
        job_id = store.job_of(pack)
        if job_id and store.is_entering(job_id):
            continue
        # Asked after the guard: a job that has just entered has its row by now.
        half_made = pack.parent == store.incoming() or pack.name.startswith(".") or _is_data_of_nothing(pack)
        if half_made or not Job.objects.filter(id=job_id).exists():
            yield _of(pack)


def _objects() -> Iterator[Leftover]:
    """Bundles in a bucket that have no row; what else is there is not ours. Where it is silent, the next sweep asks."""
    folder = bundles.folder_in_bucket()
    if folder is None:
        return
    try:
        names = [name for name in places.names_in(folder) if _OBJECT.fullmatch(name)]
        known = set(Job.objects.values_list("id", flat=True))
        for name in names:
            job_id = name.removesuffix(".pack")
            if job_id not in known and _is_nobodys(job_id):
                yield Leftover(folder / name, partial((folder / name).unlink, missing_ok=True))
    except OSError as fault:
        log.warning("the store was not swept: %s", fault)


def _copies() -> Iterator[Leftover]:
    """Of bundles whose job is gone, and what was begun by a process that is."""
    for path in _entries(copies.folder()):
        half_made = path.name.startswith(".") and not copies.is_fetching(store.job_of(path))
        if half_made or (path.suffix == ".pack" and _is_nobodys(store.job_of(path))):
            yield _of(path)


def _is_nobodys(job_id: str) -> bool:
    """Asked after the guard: a job that has just entered has its row by now."""
    return not store.is_entering(job_id) and not Job.objects.filter(id=job_id).exists()


def _is_data_of_nothing(path: Path) -> bool:
    """The bytes of a growing pack that is one file by now, or an object."""
    pack = path.with_suffix(".pack")
    grows = is_growing(pack) if pack.exists() else settings.STORE_BUCKET is None
    return path.suffix == ".data" and not grows


def _lake() -> Iterator[Leftover]:
    """Jobs without a row; versions that neither a link points to nor a running attempt is about to publish."""
    for link in _entries(settings.LAKE):
        if link.name.startswith("j_") and not Job.objects.filter(id=link.name).exists():
            yield _of(link)
    yield from _versions(settings.LAKE)
    yield from _half_switched(settings.LAKE)


def _bucket() -> Iterator[Leftover]:
    """What of a lake in a bucket is left over. Where it does not answer now, the next sweep asks again."""
    lake = lake_root(settings.LAKE_ROOT)
    try:
        if isinstance(lake, InBucket):
            yield from _in_bucket(lake)
    except (LakeOutOfReach, OSError) as fault:
        log.warning("the lake was not swept: %s", fault)


def _in_bucket(lake: InBucket) -> Iterator[Leftover]:
    """Pointers without a row, versions that no pointer names; and, in the data folder, paths kept of these.

    Attempts are asked for before pointers: in one transaction an attempt ends and its version is pointed to.
    """
    names = places.names_in(lake / VERSIONS)
    idle = [name for name in names if not _attempt_runs(name.partition(".")[2])]
    for name in idle:
        job = name.partition(".")[0]
        if not _is_published(job, lake / VERSIONS / name):
            yield Leftover(lake / VERSIONS / name, partial(places.remove, lake / VERSIONS / name))
    for job in places.names_in(lake):
        if job.startswith("j_") and not Job.objects.filter(id=job).exists():
            yield Leftover(lake / job, partial(unpublish, settings.LAKE_ROOT, job))
    for made in _entries(store.grown()):
        job = made.name.partition(".")[0]
        if not (bundles.grows(job) and _is_published(job, lake / VERSIONS / made.name)):
            yield _of(made)
    for kept in _entries(store.kept_paths()):
        if kept.name not in names:
            yield _of(kept)


def _is_published(job: str, version: Place) -> bool:
    try:
        return published_folder(settings.LAKE_ROOT, job) == version
    except NotPublished:
        return False


def _replays() -> Iterator[Leftover]:
    for entry in _entries(store.replays()):
        if not entry.name.startswith("r_") or store.is_entering(entry.name):
            continue
        if not Replay.objects.filter(id=entry.name).exists():
            yield _of(entry)
    yield from _versions(store.replays())
    yield from _half_switched(store.replays())


def _audits() -> Iterator[Leftover]:
    """Reports that no row shows. Asked for the attempt first: in one transaction it ends and its report is shown."""
    for report in _entries(store.audits()):
        if _attempt_runs(report.name.split(".")[1] if report.name.count(".") > 1 else ""):
            continue
        if not JobAudit.objects.filter(report=report.name).exists():
            yield _of(report)


def _logs() -> Iterator[Leftover]:
    """Of jobs that are gone. A log begins after its job's row was committed."""
    for path in _entries(store.log_path("").parent):
        if not Job.objects.filter(id=store.job_of(path)).exists():
            yield _of(path)


def _half_switched(lake: Path) -> Iterator[Leftover]:
    """A link made to replace another, its maker killed in between. Only the link goes, never what it points to."""
    for link in _entries(lake):
        if link.is_symlink() and link.name.startswith(".") and time.time() - link.lstat().st_mtime > SWITCH_GRACE_S:
            yield Leftover(link, partial(link.unlink, missing_ok=True))


def _versions(lake: Path) -> Iterator[Leftover]:
    for version in _entries(lake / ".versions"):
        target, _, work_attempt = version.name.partition(".")
        if _attempt_runs(work_attempt) or store.is_entering(target):
            continue
        link = lake / target
        if not link.is_symlink() or link.resolve() != version.resolve():
            yield Leftover(version, partial(shutil.rmtree, version, ignore_errors=True))


def _attempt_runs(work_attempt: str) -> bool:
    work_id, _, attempt = work_attempt.partition("-")
    if not (work_id.isdigit() and attempt.isdigit()):
        return False
    running = Work.objects.filter(id=int(work_id), attempt=int(attempt), state=Work.State.RUNNING).first()
    return running is not None and not owner.is_dead(running.lease_owner)


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
