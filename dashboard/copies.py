"""Copies of bundles that lie in a bucket, below the data folder: fetched whole by one, held while they are read, and
removed, those first that were not used for longest, where they would take more room than they may.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from dashboard import store
from ingest.lake.errors import OutOfReach
from ingest.lake.places import InBucket, reaching
from ingest.launch import IngestCancelled
from replay.bundle.pack import Pack, storing
from replay.errors import BundleError

CHUNK_BYTES = 8 << 20
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Source:
    """An object that is open, and what it must come to, if that is known."""

    place: InBucket
    file: Any
    content_id: str


def folder() -> Path:
    return settings.DATA / "cache" / "bundles"


def copy_path(job_id: str) -> Path:
    return folder() / f"{job_id}.pack"


@contextmanager
def held(job_id: str, source: Callable[[], Source], stop: Callable[[], bool]) -> Iterator[Path]:
    """A copy that stays while this lasts, of which one process makes what others wait for."""
    while (handle := _hold(job_id)) is None and (handle := _made(job_id, source, stop)) is None:
        pass  # another has made it meanwhile, so it can be held
    try:
        yield copy_path(job_id)
    finally:
        os.close(handle)


@contextmanager
def held_if_there(job_id: str) -> Iterator[Path | None]:
    handle = _hold(job_id)
    try:
        yield None if handle is None else copy_path(job_id)
    finally:
        if handle is not None:
            os.close(handle)


def take(job_id: str, path: Path) -> None:
    """A file that is a copy already, of what was just put; where it can't be kept it is fetched when it is wanted."""
    with suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        _make_room(path.stat().st_size)
        os.replace(path, copy_path(job_id))


def remove(job_id: str) -> None:
    """Who has it open reads on."""
    copy_path(job_id).unlink(missing_ok=True)


def trim() -> None:
    """Those that were held when room was made for others go when they are not any more."""
    _make_room(0)


def _hold(job_id: str) -> int | None:
    """A handle that keeps it, and that it was used now; None where there is none."""
    path = copy_path(job_id)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fcntl.flock(handle, fcntl.LOCK_SH)
    if not _is_at(handle, path):  # it was removed before it was held
        os.close(handle)
        return None
    os.utime(handle)
    return handle


def _is_at(handle: int, path: Path) -> bool:
    try:
        return path.stat().st_ino == os.fstat(handle).st_ino
    except FileNotFoundError:
        return False


def _made(job_id: str, source: Callable[[], Source], stop: Callable[[], bool]) -> int | None:
    """None where another has made it meanwhile."""
    with storing(folder().name):
        folder().mkdir(parents=True, exist_ok=True)
    with _alone(job_id, stop):
        if copy_path(job_id).exists():
            return None
        found = source()
        with closing(found.file):
            return _fetched(job_id, found, stop)


@contextmanager
def _alone(job_id: str, stop: Callable[[], bool]) -> Iterator[None]:
    guard = folder() / f".{job_id}.lock"
    lock = store.locked_now(guard)
    while lock is None:
        _check(stop)
        time.sleep(LOOK_S)
        lock = store.locked_now(guard)
    try:
        yield
    finally:
        guard.unlink(missing_ok=True)
        os.close(lock)


def is_fetching(job_id: str) -> bool:
    """Whether somebody who lives makes a copy of it."""
    return store.is_locked(folder() / f".{job_id}.lock")


def _fetched(job_id: str, source: Source, stop: Callable[[], bool]) -> int:
    """Under its name only when it is whole, and held from before that."""
    part = folder() / f".{job_id}.{secrets.token_hex(4)}.part"
    with storing(part.name):
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            _download(source, handle, stop)
            _check_whole(part, source)
            os.replace(part, copy_path(job_id))
        except BaseException:
            os.close(handle)
            part.unlink(missing_ok=True)
            raise
    return handle


def _download(source: Source, handle: int, stop: Callable[[], bool]) -> None:
    with reaching(source.place):
        size: int = source.file.size()
    _make_room(size)
    os.truncate(handle, size)  # from now on who makes room for another one counts it whole
    for at in range(0, size, CHUNK_BYTES):
        _check(stop)
        wanted = min(CHUNK_BYTES, size - at)
        with reaching(source.place):
            data = source.file.read_at(wanted, at)
        if len(data) != wanted:
            raise OutOfReach(f"{source.place} gave {len(data)} of {wanted} bytes. Try again.")
        _write(handle, data, at)
    os.fsync(handle)


def _write(handle: int, data: bytes, at: int) -> None:
    left = memoryview(data)
    while left:
        written = os.pwrite(handle, left, at)
        left, at = left[written:], at + written


def _check_whole(part: Path, source: Source) -> None:
    with closing(Pack(part)) as pack:
        wrong = pack.changed()
        same = pack.content_id == pack.whole_content_id() and source.content_id in ("", pack.content_id)
    if wrong is not None or not same:
        why = "its content id is another" if wrong is None else f"{wrong} has another checksum"
        raise BundleError(
            f"the bundle is not what was stored: {why}", path=str(source.place), remedy="Restore it from a backup"
        )


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise IngestCancelled("it was stopped while its bundle was fetched")


def _make_room(wanted: int) -> None:
    """One that is larger than all room is fetched all the same; what is held stays."""
    found = [(stat, path) for path in _entries() if (stat := _stat(path)) is not None]
    taken = sum(stat.st_size for stat, _ in found) + wanted
    for stat, path in sorted(found, key=lambda one: one[0].st_mtime_ns):
        if taken <= settings.BUNDLE_CACHE_BYTES:
            return
        if path.suffix == ".pack" and _let_go(path):
            taken -= stat.st_size


def _entries() -> list[Path]:
    return list(folder().iterdir()) if folder().is_dir() else []


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _let_go(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # network file systems lock alone only what can be written
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(handle, path):
            return False
        path.unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
