"""The bundles of jobs: how one enters the store, and how it is found and read there, in a folder or in a bucket.

In a folder a bundle is its file. In a bucket it is an object, which Spark's tasks read by ranges; who maps it, or reads
it here and there many times, has a copy of it. One that still grows is a file of the data folder, wherever others are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from django.conf import settings

from dashboard import copies, store
from dashboard.models import Job
from ingest.lake import places
from ingest.lake.packs import open_pack
from ingest.lake.places import InBucket, Place, reaching
from ingest.launch import IngestError
from replay.bundle.pack import Pack, is_growing

FOLDER = "bundles"


class BundleGone(IngestError, FileNotFoundError):
    """The store answers, and has no bundle of this job."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"The bundle of the job {job_id} is no longer in the store. Upload it again.")


def folder_in_bucket() -> InBucket | None:
    """Where bundles are objects; None where they are files."""
    return None if settings.STORE_BUCKET is None else settings.STORE_BUCKET / FOLDER


def address(job_id: str) -> Place:
    """Where the bundle is, if it is anywhere."""
    path, folder = store.pack_path(job_id), folder_in_bucket()
    return path if folder is None or path.exists() else folder / path.name


def is_stored(job_id: str) -> bool:
    """Raises `OutOfReach` where that can't be known."""
    place = address(job_id)
    with reaching(place):
        return places.size_of(place) is not None


def require(job_id: str) -> None:
    """Raises `BundleGone`."""
    if not is_stored(job_id):
        raise BundleGone(job_id)


def written_ns(job_id: str) -> int:
    """When it was stored: what was read of it before then is of another. Raises `BundleGone`."""
    place = address(job_id)
    with reaching(place):
        found = place.info().mtime_ns if isinstance(place, InBucket) else _mtime_ns(place)
    if found is None:
        raise BundleGone(job_id)
    return int(found)


def _mtime_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


@contextmanager
def bundle(job_id: str, stop: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """A file to map and to read at random. Of one in a bucket it is a copy, which stays as long as this lasts.

    Raises `BundleGone`, `OutOfReach`, `BundleError` where it is not what was stored, and `IngestCancelled` when `stop`
    says so before it is there.
    """
    place = address(job_id)
    if isinstance(place, InBucket):
        with copies.held(job_id, lambda: _source(place, job_id), stop) as copy:
            yield copy
    elif place.exists():
        yield place
    else:
        raise BundleGone(job_id)


@contextmanager
def opened(job_id: str) -> Iterator[Pack]:
    """For a look at few members: of one in a bucket no copy is made for it, and one that is there is used."""
    place = address(job_id)
    with copies.held_if_there(job_id) as copy:
        try:
            pack = open_pack(copy if copy is not None and isinstance(place, InBucket) else place)
        except FileNotFoundError as missing:
            raise BundleGone(job_id) from missing
        with closing(pack):
            yield pack


def _source(place: InBucket, job_id: str) -> copies.Source:
    try:
        with reaching(place):
            return copies.Source(place, place.open_file(), _content_id(job_id))
    except FileNotFoundError as missing:
        raise BundleGone(job_id) from missing


def _content_id(job_id: str) -> str:
    """As the row has it; of a job that grew, the row may be a version behind."""
    return Job.objects.filter(id=job_id, followed="").values_list("content_id", flat=True).first() or ""


def grows(job_id: str) -> bool:
    """Whether more may come to it."""
    path = store.pack_path(job_id)
    return path.exists() and is_growing(path)


def put(job_id: str, path: Path) -> None:
    """Into the bucket, whole or not at all; raises `OutOfReach`."""
    place = _object(job_id)
    with reaching(place):
        places.put_file(place, path)


def settle(job_id: str, fresh: Path) -> None:
    """What has grown is one file now, and goes to where whole ones are; killed meanwhile, it grows still."""
    path = store.pack_path(job_id)
    if settings.STORE_BUCKET is None:
        os.replace(fresh, path)
    else:
        put(job_id, fresh)
        copies.take(job_id, fresh)
        path.unlink()
    store.data_path(job_id).unlink()


def remove(job_id: str) -> None:
    """Of a bucket that does not answer the sweeper removes later what has no row."""
    store.pack_path(job_id).unlink(missing_ok=True)
    store.data_path(job_id).unlink(missing_ok=True)
    if settings.STORE_BUCKET is not None:
        _remove_object(job_id)
        copies.remove(job_id)


def _object(job_id: str) -> InBucket:
    folder = folder_in_bucket()
    if folder is None:
        raise ValueError(f"the store is a folder, so the bundle of {job_id} is no object")
    return folder / store.pack_path(job_id).name


def _remove_object(job_id: str) -> None:
    with suppress(OSError):
        _object(job_id).unlink(missing_ok=True)


class Entering:
    """A bundle on its way: packed into `fresh`, then sent, then entered, which its row decides."""

    def __init__(self, job_id: str, fresh: Path) -> None:
        self.job_id = job_id
        self.fresh = fresh
        self._sent = self._entered = False

    def send(self) -> None:
        """Into the bucket, before the transaction that holds others up; nobody sees it without a row."""
        if settings.STORE_BUCKET is not None:
            self._sent = True
            put(self.job_id, self.fresh)

    def enter(self) -> None:
        """The last thing of the transaction that makes the row."""
        if settings.STORE_BUCKET is None:
            os.replace(self.fresh, store.pack_path(self.job_id))
        elif not self._sent:  # what made it needless has gone meanwhile
            self.send()
        self._entered = True

    def end(self) -> None:
        """What was sent for nothing goes; what has entered is at hand for who reads it first."""
        if self._sent and not self._entered:
            _remove_object(self.job_id)
        elif self._sent:
            copies.take(self.job_id, self.fresh)


@contextmanager
def entering(job_id: str) -> Iterator[Entering]:
    """While this process lives, no sweeper touches the job's files and its object."""
    with store.entering(job_id) as fresh:
        one = Entering(job_id, fresh)
        try:
            yield one
        finally:
            one.end()


def reachable() -> bool:
    """Whether bundles can be asked for at all."""
    folder = folder_in_bucket()
    try:
        return folder is None or folder.info() is not None
    except OSError:
        return False
