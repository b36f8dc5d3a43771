"""A PostgreSQL cluster that lives as long as a test session, with a fresh database for whoever asks."""

import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.services.processes import (
    ServiceMissing,
    free_port,
    service_folder,
    stop,
    unprivileged_user,
    wait_until,
)

DEBIAN_BINARIES = Path("/usr/lib/postgresql")


@dataclass(slots=True)
class PostgresServer:
    port: int
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def url(self, database: str) -> str:
        return f"postgresql://clonoscope@127.0.0.1:{self.port}/{database}"

    def create_database(self, like: str | None = None) -> str:
        """The URL of an empty database, or of a copy of another, which nobody may be connected to."""
        name = f"clonoscope_{os.getpid()}_{next(self._numbers)}"
        template = "" if like is None else f' TEMPLATE "{_name_of(like)}"'
        self._execute(f'CREATE DATABASE "{name}"{template}')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{_name_of(url)}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def ready(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def _name_of(url: str) -> str:
    return url.rsplit("/", 1)[1]


def binary(name: str) -> str:
    """Debian keeps the server's programs off PATH, in a folder per version."""
    versions = sorted(DEBIAN_BINARIES.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise ServiceMissing(f"{name} is not installed (Debian package postgresql)")
    return found


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    initdb, postgres = binary("initdb"), binary("postgres")
    user = unprivileged_user()  # initdb refuses root
    with service_folder("postgres", user) as folder:
        cluster, log = folder / "cluster", folder / "log"
        _run_initdb(
            [initdb, "--no-sync", "-A", "trust", "-U", "clonoscope", "-E", "UTF8", "-D", str(cluster)], folder, user
        )
        server = PostgresServer(free_port())
        settings = [
            "fsync=off",
            "max_connections=50",
            f"unix_socket_directories={folder}",
            "listen_addresses=127.0.0.1",
        ]
        command = [postgres, "-D", str(cluster), "-p", str(server.port)]
        command += [part for setting in settings for part in ("-c", setting)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, user=user)
        try:
            wait_until(server.ready, process, log)
            yield server
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # "fast": doesn't wait for clients
            stop(process)


def _run_initdb(command: list[str], folder: Path, user: str | None) -> None:
    done = subprocess.run(command, cwd=folder, user=user, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")
