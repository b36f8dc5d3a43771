"""Where jobs lie in the lake, and the atomic switch that publishes a version: a job is wholly there or not at all."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from ingest.errors import IngestError
from ingest.lake.errors import NotPublished

VERSIONS = ".versions"
REPLAYS = "replays"
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,120}")


class UnsafeName(IngestError):
    """A name that must not become part of a path."""


def safe_name(name: str) -> str:
    """Names of jobs, replays and work that may stand in a path; anything else is refused, never mended."""
    if not _SAFE.fullmatch(name):
        raise UnsafeName(f"{name!r} cannot name a folder of the lake")
    return name


def lake_root(data: Path) -> Path:
    return data / "lake"


def staging_folder(data: Path, work: str, attempt: int) -> Path:
    return data / "staging" / f"{safe_name(work)}-{attempt}"


def version_folder(data: Path, job: str, work: str, attempt: int) -> Path:
    return lake_root(data) / VERSIONS / f"{safe_name(job)}.{safe_name(work)}-{attempt}"


def job_link(data: Path, job: str) -> Path:
    name = safe_name(job)
    if name == REPLAYS:
        raise UnsafeName(f"a job cannot be called {REPLAYS}")
    return lake_root(data) / name


def published_folder(data: Path, job: str) -> Path:
    """The folder of the version that is published now."""
    link = job_link(data, job)
    target = None
    while True:
        before, target = target, _target(link, job)
        folder = link.parent / target
        if folder.is_dir():
            return folder
        # Between the two looks it may have been replaced by a newer version, and removed.
        if target == before:
            raise NotPublished(f"job {job} points to a version that is gone. Ingest the job anew.")


def _target(link: Path, job: str) -> str:
    try:
        return os.readlink(link)
    except OSError as missing:
        raise NotPublished(f"job {job} is not in the lake. It may still be queued, or its ingest failed.") from missing


def publish(data: Path, staging: Path, job: str, work: str, attempt: int) -> Path:
    """Moves a finished staging folder to its version and switches the job's link to it; older versions go.

    The caller has checked, in its own transaction, that this attempt still holds the work.
    Doing it twice is doing it once.
    """
    version = version_folder(data, job, work, attempt)
    version.parent.mkdir(parents=True, exist_ok=True)
    if staging.is_dir():
        _sync_folder(staging)
        if version.exists():
            shutil.rmtree(version)
        os.replace(staging, version)
    elif not version.is_dir():
        raise NotPublished(f"{staging} is gone: there is nothing to publish for job {job}")
    _sync_folder(version.parent)
    switch(job_link(data, job), Path(VERSIONS) / version.name)
    remove_old_versions(data, job)
    return version


def switch(link: Path, target: Path) -> None:
    """Points a symlink elsewhere; whoever looks sees the old target or the new."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}.{os.urandom(4).hex()}.link")
    os.symlink(target, temporary)
    try:
        os.replace(temporary, link)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(link.parent)


def unpublish(data: Path, job: str) -> None:
    """Takes a job out of the lake: first the link, so that it is gone at once, then its versions."""
    job_link(data, job).unlink(missing_ok=True)
    for version in _versions(data, job):
        shutil.rmtree(version, ignore_errors=True)


def remove_old_versions(data: Path, job: str) -> None:
    """All versions of a job but the published one. Readers that hold one open keep its files until they close."""
    published = published_folder(data, job)
    for version in _versions(data, job):
        if version != published:
            shutil.rmtree(version, ignore_errors=True)


def _versions(data: Path, job: str) -> list[Path]:
    folder = lake_root(data) / VERSIONS
    prefix = f"{safe_name(job)}."
    return sorted(v for v in folder.glob("*") if v.name.startswith(prefix)) if folder.is_dir() else []


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
