"""Reading the environment variables that choose between one machine and many; no Django here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ingest.lake.places import Place, place_of
from ingest.masters import FORMS, is_cluster, is_known


class SettingError(Exception):
    """A setting is missing or cannot be understood; the sentence says which and what to do."""


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def flag(name: str, default: bool) -> bool:
    value = text(name).lower()
    if value in ("", "1", "true", "yes", "on", "0", "false", "no", "off"):
        return default if not value else value in ("1", "true", "yes", "on")
    raise SettingError(f"{name} is {value!r}; say 1 or 0.")


def number(name: str, default: int, *, least: int | None = None) -> int:
    value = text(name)
    try:
        found = int(value) if value else default
    except ValueError:
        raise SettingError(f"{name} is {value!r}; it must be a whole number.") from None
    if least is not None and found < least:
        raise SettingError(f"{name} is {found}; it must be {least} or more.")
    return found


def words(name: str, default: list[str]) -> list[str]:
    return [word.strip() for word in text(name).split(",") if word.strip()] or default


def folder(name: str, default: Path) -> Path:
    """A folder that every process sees, by path or file:// address."""
    value = text(name)
    if not value:
        return default
    parts = urlsplit(value)
    if parts.scheme not in ("", "file"):
        raise SettingError(f"{name} is {value!r}; it must be a folder that all machines share, by its path.")
    return Path(unquote(parts.path)).resolve()


def place(name: str, default: Path) -> Place:
    """A folder that every process sees, or a prefix in a bucket, as s3://bucket/prefix."""
    value = text(name)
    parts = urlsplit(value)
    if parts.scheme != "s3":
        return folder(name, default)
    if not parts.netloc or parts.query or parts.fragment or "//" in parts.path:
        raise SettingError(f"{name} is {value!r}; a place in a bucket is s3://bucket or s3://bucket/prefix.")
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise SettingError(f"AWS_ENDPOINT_URL is {endpoint!r}; it must be an address, as http://127.0.0.1:9000.")
    return place_of(value)


def master(name: str, default: str, *, needs: tuple[str, ...]) -> str:
    """Where Spark's tasks run; on a cluster they find nothing that lies in this machine's own data folder."""
    value = text(name) or default
    if not is_known(value):
        raise SettingError(f"{name} is {value!r}; it must be {FORMS}.")
    missing = [one for one in needs if not text(one)]
    if is_cluster(value) and missing:
        raise SettingError(
            f"{name} is {value!r}, but {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set. "
            "A cluster's tasks read and write there: name a folder that all its machines share, or a place in a bucket."
        )
    return value


def database(url: str, data: Path) -> dict[str, Any]:
    """Django's DATABASES entry of DATABASE_URL; without one, SQLite in the data folder."""
    if not url:
        return sqlite(data / "clonoscope.sqlite3")
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return sqlite(Path(unquote(parts.path)))
    if parts.scheme not in ("postgres", "postgresql"):
        raise SettingError(f"DATABASE_URL begins with {parts.scheme!r}; it must be postgresql://… or sqlite:///….")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(options.pop("port", None) or parts.port or ""),
        "OPTIONS": options,
        "CONN_HEALTH_CHECKS": True,
    }


def sqlite(path: Path) -> dict[str, Any]:
    """Readers beside one writer; a transaction takes the write lock at its begin, so it waits instead of failing."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        },
        # A test database in memory is one connection for all threads; the work tests need several.
        "TEST": {"NAME": str(path.with_name("test-" + path.name))},
    }
