"""Where bundles, uploads, lake folders and staging lie, and the guard under which a bundle enters the store."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

from dashboard.removal import remove_path
from ingest.lake.places import Place
from ingest.lake.publish import unpublish, version_folder


def bundles() -> Path:
    return settings.STORE / "bundles"


def pack_path(job_id: str) -> Path:
    """The bundle, where the store is a folder or the bundle still grows; else it is asked of `bundles`."""
    return bundles() / f"{job_id}.pack"


def data_path(job_id: str) -> Path:
    """What members of a growing pack are made of."""
    return bundles() / f"{job_id}.data"


def job_of(path: Path) -> str:
    """The job, or replay, that a file of the store belongs to; one being written has a name of its own around that."""
    found = re.search(r"[jr]_[0-9a-z]{12}", path.name)
    return found.group() if found else ""


def incoming() -> Path:
    return settings.STORE / "incoming"


def uploads() -> Path:
    return settings.STORE / "uploads"


def staging_path(work_id: int, attempt: int) -> Path:
    return settings.STAGING / f"{work_id}-{attempt}"


def staging_of(job_id: str, work_id: int, attempt: int) -> Place:
    """Where an attempt writes tables: beside the lake, or, in a bucket, where they will stay."""
    if isinstance(settings.LAKE_ROOT, Path):
        return staging_path(work_id, attempt)
    return version_folder(settings.LAKE_ROOT, job_id, str(work_id), attempt)


def lake_path(job_id: str) -> Path:
    return settings.LAKE / job_id


def remove_tables(job_id: str) -> None:
    """Of a job, from the lake."""
    if isinstance(settings.LAKE_ROOT, Path):
        remove_path(lake_path(job_id))
    else:
        for made in grown_of(job_id):
            remove_path(made)
        with suppress(OSError):  # of a bucket that does not answer: the sweeper removes what has no row
            unpublish(settings.LAKE_ROOT, job_id)


def replays() -> Path:
    return settings.LAKE / "replays"


def replay_path(replay_id: str) -> Path:
    return replays() / replay_id


def audits() -> Path:
    return settings.LAKE / "audits"


def kept_paths() -> Path:
    """Causal paths that were worked out of jobs whose tables are in a bucket."""
    return settings.LAKE / "paths"


def grown() -> Path:
    """Of growing jobs whose tables are in a bucket, the last version as it was made."""
    return settings.LAKE / "growing"


def grown_of(job_id: str) -> list[Path]:
    return sorted(grown().glob(f"{job_id}.*"))


def log_path(job_id: str) -> Path:
    return settings.DATA / "logs" / "jobs" / f"{job_id}.log"


@contextmanager
def entering(job_id: str) -> Iterator[Path]:
    """The place for a pack still being written. While this process lives, no sweeper touches the job's files."""
    incoming().mkdir(parents=True, exist_ok=True)
    bundles().mkdir(parents=True, exist_ok=True)
    guard, fresh = incoming() / f"{job_id}.lock", incoming() / f"{job_id}.pack"
    lock = _locked(guard)
    try:
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)
        guard.unlink(missing_ok=True)
        os.close(lock)


@contextmanager
def trying_to_enter(job_id: str) -> Iterator[bool]:
    """The same guard for a job that is stored already; whether nobody else has it."""
    incoming().mkdir(parents=True, exist_ok=True)
    guard = incoming() / f"{job_id}.lock"
    lock = locked_now(guard)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            guard.unlink(missing_ok=True)
            os.close(lock)


def _locked(guard: Path) -> int:
    """A sweeper may have taken the file for a leftover just before it was locked; then it is made again."""
    while True:
        lock = os.open(guard, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if guard.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)


def locked_now(guard: Path) -> int | None:
    """None where somebody else has it."""
    lock = os.open(guard, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if guard.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    os.close(lock)
    return None


def is_entering(job_id: str) -> bool:
    return is_locked(incoming() / f"{job_id}.lock")


def is_locked(guard: Path) -> bool:
    try:
        lock = os.open(guard, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
