"""The data folder: what lies where in it, its secret key, and the lock of the one process that works on it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from dashboard.environment import SettingError

LOCK_NAME = "server.lock"
ASKING_S = 0.5


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works on a data folder: a server with its address, or a command that does its own work."""

    pid: int
    address: str
    command: str

    def __str__(self) -> str:
        doing = f"is served at {self.address}" if self.address else f"is in use by `{self.command}`"
        return f"{doing} (process {self.pid})"


class FolderInUse(Exception):
    def __init__(self, data: Path, holder: Holder) -> None:
        self.holder = holder
        super().__init__(f"The data folder {data} {holder}. Stop that first, or choose another folder with --data.")


@contextmanager
def usable() -> Iterator[None]:
    """Says of the data folder, in one sentence, what the system only gives a number for."""
    try:
        yield
    except OSError as error:
        raise SettingError(
            f"The data folder {settings.DATA} cannot be used: {error.strerror} ({error.filename}). "
            "Choose another with --data, or make this one writable."
        ) from error


def prepare_folders() -> None:
    """Only a folder made here is closed to others: a given one keeps its mode, and its files are private each."""
    with usable():
        settings.DATA.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (settings.DATA / "logs" / "jobs", settings.STORE / "bundles", settings.LAKE, settings.STATIC_ROOT):
            path.mkdir(parents=True, exist_ok=True)


def prepare() -> None:
    """Makes the folders and keeps this process's secret key, unless there is one already."""
    if settings.EMBEDDED:
        os.umask(0o077)
    prepare_folders()
    if not settings.EMBEDDED or settings.SECRET_KEY_FILE.exists():
        return
    fresh = settings.DATA / f".secret-key-{secrets.token_hex(4)}"
    fresh.touch(mode=0o600)
    fresh.write_text(settings.SECRET_KEY)
    # A link fails where the name is taken, so of two first starts only one decides.
    with suppress(FileExistsError):
        os.link(fresh, settings.SECRET_KEY_FILE)
    fresh.unlink()
    settings.SECRET_KEY = settings.SECRET_KEY_FILE.read_text().strip()


class Hold:
    """The data folder while this process holds it."""

    def __init__(self, lock: int, command: str) -> None:
        self._lock = lock
        self._command = command

    def tell(self, address: str) -> None:
        """Lets who finds the folder held know where it is served."""
        words = json.dumps({"pid": os.getpid(), "address": address, "command": self._command}).encode()
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, words, 0)


@contextmanager
def held(*, address: str = "", command: str = "up") -> Iterator[Hold]:
    """Holds the data folder; raises FolderInUse where another process does. The kernel frees it if we are killed."""
    path = settings.DATA / LOCK_NAME
    with usable():
        settings.DATA.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = open(path, "a+", opener=_privately)  # noqa: SIM115 - closed by the with below
    with opened as lock:
        _take(lock.fileno(), path)
        hold = Hold(lock.fileno(), command)
        hold.tell(address)
        try:
            yield hold
        finally:
            os.ftruncate(lock.fileno(), 0)


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _take(lock: int, path: Path) -> None:
    """Whoever asks `holder` has the lock for a moment; who works here has it for longer than we wait."""
    deadline = time.monotonic() + ASKING_S
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise FolderInUse(settings.DATA, _read_holder(path)) from None
            time.sleep(ASKING_S / 10)


def holder() -> Holder | None:
    """Who holds the data folder now; None if nobody does."""
    path = settings.DATA / LOCK_NAME
    try:
        lock = open(path)  # noqa: SIM115 - closed by the with below
    except FileNotFoundError:
        return None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read_holder(path)
    return None


def _read_holder(path: Path) -> Holder:
    try:
        fields = json.loads(path.read_text() or "{}")
    except ValueError:
        fields = {}
    return Holder(int(fields.get("pid", 0)), str(fields.get("address", "")), str(fields.get("command", "up")))
