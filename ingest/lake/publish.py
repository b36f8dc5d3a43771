"""Where jobs lie in the lake, and the atomic switch that publishes a version: a job is wholly there or not at all.

In a folder the switch is a symbolic link. A bucket has none, nor anything that renames a folder: there a version is
written where it stays, and an object with the link's name says which one is published, in the words that a link would.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import overload

from ingest.errors import IngestError
from ingest.lake import places
from ingest.lake.errors import LakeOutOfReach, NotPublished
from ingest.lake.places import InBucket, Place

VERSIONS = ".versions"
MANIFEST = "manifest.json"
REPLAYS = "replays"
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,120}")


class UnsafeName(IngestError):
    """A name that must not become part of a path."""


def safe_name(name: str) -> str:
    """Names of jobs, replays and work that may stand in a path; anything else is refused, never mended."""
    if not _SAFE.fullmatch(name):
        raise UnsafeName(f"{name!r} cannot name a folder of the lake")
    return name


@overload
def lake_root(data: Path) -> Path: ...
@overload
def lake_root(data: InBucket) -> InBucket: ...
@overload
def lake_root(data: Place) -> Place: ...
def lake_root(data: Place) -> Place:
    return data / "lake"


def staging_folder(data: Path, work: str, attempt: int) -> Path:
    return data / "staging" / f"{safe_name(work)}-{attempt}"


@overload
def version_folder(data: Path, job: str, work: str, attempt: int) -> Path: ...
@overload
def version_folder(data: Place, job: str, work: str, attempt: int) -> Place: ...
def version_folder(data: Place, job: str, work: str, attempt: int) -> Place:
    return lake_root(data) / VERSIONS / f"{safe_name(job)}.{safe_name(work)}-{attempt}"


@overload
def job_link(data: Path, job: str) -> Path: ...
@overload
def job_link(data: Place, job: str) -> Place: ...
def job_link(data: Place, job: str) -> Place:
    name = safe_name(job)
    if name == REPLAYS:
        raise UnsafeName(f"a job cannot be called {REPLAYS}")
    return lake_root(data) / name


@overload
def published_folder(data: Path, job: str) -> Path: ...
@overload
def published_folder(data: Place, job: str) -> Place: ...
def published_folder(data: Place, job: str) -> Place:
    """The folder of the version that is published now."""
    link = job_link(data, job)
    if isinstance(link, InBucket):
        return link.parent / _words(link, job)
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
        raise _not_published(job) from missing


def _words(pointer: InBucket, job: str) -> str:
    try:
        with places.reaching(pointer, LakeOutOfReach):
            target = pointer.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError as missing:
        raise _not_published(job) from missing
    folder, _, name = target.partition("/")
    if folder != VERSIONS or not name.startswith(f"{job}.") or "/" in name:
        raise NotPublished(f"{pointer} does not name a version of job {job}. Ingest the job anew.")
    return target


def _not_published(job: str) -> NotPublished:
    return NotPublished(f"job {job} is not in the lake. It may still be queued, or its ingest failed.")


def publish(data: Place, staging: Place, job: str, work: str, attempt: int) -> Place:
    """Makes what was staged the job's published version; older versions go.

    The caller has checked, in its own transaction, that this attempt still holds the work.
    Doing it twice is doing it once.
    """
    version, link = version_folder(data, job, work, attempt), job_link(data, job)
    match version, link, staging:
        case InBucket(), InBucket(), _:
            _point_to(version, link, job)
        case Path(), Path(), Path():
            _move(staging, version, job)
            switch(link, Path(VERSIONS) / version.name)
        case _:
            raise TypeError(f"{staging} can't be published in {data}")
    with suppress(LakeOutOfReach, OSError):  # it is published all the same, and the sweeper removes the others
        remove_old_versions(data, job)
    return version


def _point_to(version: InBucket, pointer: InBucket, job: str) -> None:
    """The manifest is written last: where it is, all of the version is."""
    with places.reaching(version, LakeOutOfReach):
        if places.size_of(version / MANIFEST) is None:
            raise NotPublished(f"{version} has no manifest: there is nothing to publish for job {job}")
        places.put(pointer, f"{VERSIONS}/{version.name}".encode())


def _move(staging: Path, version: Path, job: str) -> None:
    version.parent.mkdir(parents=True, exist_ok=True)
    if staging.is_dir():
        _sync_folder(staging)
        if version.exists():
            shutil.rmtree(version)
        os.replace(staging, version)
    elif not version.is_dir():
        raise NotPublished(f"{staging} is gone: there is nothing to publish for job {job}")
    _sync_folder(version.parent)


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


def unpublish(data: Place, job: str) -> None:
    """Takes a job out of the lake: first the link, so that it is gone at once, then its versions."""
    job_link(data, job).unlink(missing_ok=True)
    for version in _versions(data, job):
        places.remove(version)


def remove_old_versions(data: Place, job: str) -> None:
    """All versions of a job but the published one. Readers that hold one open keep its files until they close."""
    published = published_folder(data, job)
    for version in _versions(data, job):
        if version != published:
            places.remove(version)


def discard(data: Place, staging: Place, job: str) -> None:
    """Takes away what was staged, unless it was published where it stands. The sweeper does what can't be done now."""
    try:
        if published_folder(data, job) == staging:
            return
    except NotPublished:
        pass
    except LakeOutOfReach:
        return
    with suppress(OSError):
        places.remove(staging)


def _versions(data: Place, job: str) -> list[Place]:
    folder = lake_root(data) / VERSIONS
    return [folder / name for name in places.names_in(folder) if name.startswith(f"{safe_name(job)}.")]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
