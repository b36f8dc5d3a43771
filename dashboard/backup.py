"""Backup and restore of a data folder: what cannot be derived again, in one tar file.

The database, the bundles, the secret key and the jobs' logs go in. Tables and replay steps are derived from bundles,
so a restored server makes them anew.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from dashboard import bundles, folder, store
from dashboard.models import Job, JobAudit, Replay, Status, Work
from dashboard.models.targets import Target
from dashboard.work.queue import enqueue
from ingest.lake.places import InBucket, reaching
from replay.bundle.pack import is_growing

DATABASE = "clonoscope.sqlite3"
CONTENTS = "backup.json"
READ_BYTES = 8 << 20
FORMAT = {"format": "clonoscope-backup", "version": 1}


class BackupError(Exception):
    """The backup cannot be made or restored; the sentence says why."""


def back_up(out: Path) -> int:
    """Beside a running server too: the database is copied in one instant, bundles never change. The jobs in it."""
    if connection.vendor != "sqlite":
        raise BackupError(
            "The database is PostgreSQL: back it up with pg_dump, then copy the store; docs/operations.md says how."
        )
    part = out.with_name(f".{out.name}.part")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / DATABASE
        _copy_database(copy)
        jobs = _jobs_in(copy)
        with open(part, "wb") as file, tarfile.open(fileobj=file, mode="w") as tar:
            _add_bytes(tar, CONTENTS, json.dumps(FORMAT | {"jobs": len(jobs)}).encode())
            tar.add(copy, DATABASE)
            tar.add(settings.SECRET_KEY_FILE, "secret-key")
            for job_id in jobs:
                # A job deleted since the copy has no bundle; restoring drops its row.
                with suppress(FileNotFoundError):
                    _add_bundle(tar, job_id)
                with suppress(FileNotFoundError):  # only beside one that grows; what it says is in it by now
                    tar.add(store.data_path(job_id), f"bundles/{job_id}.data")
                with suppress(FileNotFoundError):
                    tar.add(store.log_path(job_id), f"logs/{job_id}.log")
            file.flush()
            os.fsync(file.fileno())
    os.replace(part, out)
    return len(jobs)


def restore(backup: Path) -> int:
    """Into a data folder that holds nothing yet; the jobs in it are then ingested and replayed anew."""
    if settings.SECRET_KEY_FILE.exists() or (settings.DATA / DATABASE).exists():
        raise BackupError(f"{settings.DATA} already holds data. Restore into a new folder, named with --data.")
    try:
        with tarfile.open(backup) as tar:
            _check_contents(tar)
            folder.prepare_folders()
            for member in tar:
                _restore_member(tar, member)
    except tarfile.TarError as error:
        raise BackupError(f"{backup} is no whole backup: {error}.") from error
    return _derive_again()


def _add_bundle(tar: tarfile.TarFile, job_id: str) -> None:
    name, place = f"bundles/{job_id}.pack", bundles.address(job_id)
    if not isinstance(place, InBucket):
        tar.add(place, name)
        return
    with reaching(place), closing(place.open_file()) as file:
        entry = tarfile.TarInfo(name)
        entry.size = file.size()
        tar.addfile(entry, io.BufferedReader(file, READ_BYTES))


def _copy_database(copy: Path) -> None:
    source = settings.DATABASES["default"]["NAME"]
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(copy)) as target:
        live.backup(target)


def _jobs_in(copy: Path) -> list[str]:
    with closing(sqlite3.connect(copy)) as database:
        return [row[0] for row in database.execute("SELECT id FROM dashboard_job ORDER BY id")]


def _check_contents(tar: tarfile.TarFile) -> None:
    first = tar.next()
    content = tar.extractfile(first) if first is not None and first.name == CONTENTS else None
    contents: dict[str, Any] = json.loads(content.read()) if content else {}
    if {name: contents.get(name) for name in FORMAT} != FORMAT:
        raise BackupError("This is no backup of this version; it does not begin with its table of contents.")


def _restore_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    path, content = _place_of(member.name), tar.extractfile(member)
    if path is None or content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if path == settings.SECRET_KEY_FILE else 0o644
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        while chunk := content.read(1 << 20):
            file.write(chunk)
    _move_into_bucket(path)


def _move_into_bucket(path: Path) -> None:
    """A bundle, where bundles are objects; one that grew when the backup was made stays a file."""
    if settings.STORE_BUCKET is not None and path.suffix == ".pack" and not is_growing(path):
        bundles.put(store.job_of(path), path)
        path.unlink()


def _place_of(name: str) -> Path | None:
    """Places are made from the names that we know, never from what an archive says."""
    job_id = store.job_of(Path(name))
    known = {DATABASE: settings.DATA / DATABASE, "secret-key": settings.SECRET_KEY_FILE}
    if job_id:
        known |= {f"bundles/{job_id}.pack": store.pack_path(job_id), f"logs/{job_id}.log": store.log_path(job_id)}
        known |= {f"bundles/{job_id}.data": store.data_path(job_id)}
    return known.get(name)


def _derive_again() -> int:
    with transaction.atomic():
        Work.objects.filter(state__in=[Work.State.QUEUED, Work.State.RUNNING]).delete()
        for job in Job.objects.exclude(status__in=[Status.FAILED, Status.CANCELLED]):
            if bundles.is_stored(job.id):
                _queue(job, Work.Kind.INGEST)
            else:
                job.delete()
        for replay in Replay.objects.exclude(status__in=[Status.FAILED, Status.CANCELLED]):
            _queue(replay, Work.Kind.REPLAY)
        for audit in JobAudit.objects.exclude(status__in=[Status.FAILED, Status.CANCELLED]):
            _queue(audit, Work.Kind.AUDIT)
    return Job.objects.count()


def _queue(row: Target, kind: str) -> None:
    row.status, row.message = Status.QUEUED, "Restored from a backup; its tables are being made anew."
    row.save(update_fields=["status", "message", "updated_at"])
    enqueue(kind, row.id)


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
