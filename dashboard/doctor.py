"""Looking whether this machine and data folder can do the work: each check says what it found."""

from __future__ import annotations

import importlib.metadata
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.checks import run_checks
from django.db import DatabaseError, connection

from dashboard import folder
from dashboard.opening import is_behind
from ingest import masters
from ingest.lake import places

ROOM_NEEDED_BYTES = 2 << 30
PACKAGES = ("Django", "celery", "channels", "uvicorn", "pyspark", "pyarrow", "duckdb", "numba")


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    good: bool
    detail: str


def findings() -> Iterator[Finding]:
    folders = (_store, _lake, _data, _room)
    for check in (_python, _packages, _java, _spark, *folders, _database, _server, _redis, _configuration):
        yield _looked(check)


def _looked(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except (OSError, DatabaseError, RuntimeError, ValueError) as error:
        return Finding(check.__name__.strip("_"), False, f"{type(error).__name__}: {error}")


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), sys.version.split()[0])


def _packages() -> Finding:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return Finding("packages", False, f"{name} is missing; start with ./run, which installs it")
    return Finding("packages", True, ", ".join(f"{name} {version}" for name, version in found.items()))


def _java() -> Finding:
    from ingest.launch import find_java

    java = find_java()
    return Finding("java", True, f"{java.version} in {java.home}")


def _spark() -> Finding:
    """Whether a cluster's master takes a connection; what it needs besides, an ingest shows."""
    why = masters.silent(settings.SPARK_MASTER)
    return Finding("spark", not why, f"{settings.SPARK_MASTER}" + (f"; {why}" if why else ""))


def _lake() -> Finding:
    """Of a bucket, whether objects can be put, listed, read and removed there: an ingest needs all of it."""
    return _place("lake", settings.LAKE_ROOT, settings.LAKE)


def _store() -> Finding:
    return _place("store", settings.STORE_BUCKET, settings.STORE)


def _place(name: str, root: places.Place | None, folder: Path) -> Finding:
    if not isinstance(root, places.InBucket):
        return Finding(name, True, str(folder))
    probe = root / f"doctor-{secrets.token_hex(4)}"
    places.put(probe, b"well")
    well = probe.name in places.names_in(root) and probe.read_bytes() == b"well"
    probe.unlink()
    return Finding(name, well, f"{root}" + ("" if well else " does not give back what is put there"))


def _data() -> Finding:
    writable = os.access(settings.DATA if settings.DATA.exists() else settings.DATA.parent, os.W_OK)
    state = "" if settings.DATA.exists() else ", does not exist yet"
    return Finding("data folder", writable, f"{settings.DATA}{state}" + ("" if writable else ", cannot be written"))


def _room() -> Finding:
    place = next(path for path in (settings.DATA, *settings.DATA.parents) if path.exists())
    free_bytes = shutil.disk_usage(place).free
    return Finding("disk", free_bytes >= ROOM_NEEDED_BYTES, f"{free_bytes >> 20} MiB free; 2048 are wanted")


def _database() -> Finding:
    if settings.EMBEDDED and not settings.DATA.exists():
        return Finding("database", True, "made at the first start")
    behind = is_behind()
    return Finding("database", True, f"{connection.vendor}" + (", is migrated at the next start" if behind else ""))


def _server() -> Finding:
    holder = folder.holder()
    return Finding("server", True, f"the data folder {holder}" if holder else "nobody serves this data folder")


def _redis() -> Finding:
    if not settings.REDIS_URL:
        return Finding("redis", True, "not used; work is done in the web process")
    from redis import Redis, RedisError

    try:
        Redis.from_url(settings.REDIS_URL, socket_timeout=5).ping()
    except RedisError as error:
        return Finding("redis", False, str(error))
    return Finding("redis", True, "answers")


def _configuration() -> Finding:
    problems = run_checks(include_deployment_checks=not settings.EMBEDDED)
    serious = [str(problem.msg) for problem in problems if problem.level >= 30]
    return Finding("settings", not serious, "; ".join(serious) or f"{settings.MODE} mode")
