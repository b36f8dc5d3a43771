"""A data folder of its own for every test, on a real database with real commits: SQLite, or PostgreSQL where asked."""

import json
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections

from dashboard import environment, folder
from ingest.lake.places import InBucket, place_of
from tests.services.postgres import PostgresServer
from tests.services.s3 import BUCKET

MANIFEST = {
    "format": "causal-log-bundle",
    "version": 1,
    "job": {"name": "tiny", "recorder": "test", "recorded_at": "2026-11-18T00:00:00Z"},
    "clock": {"origin_ms": 0, "kind": "virtual"},
    "determinants": "clonos",
    "protocol": {"name": "clonos"},
    "vertices": [{"id": "source", "kind": "source", "operator": "x", "parallelism": 1}],
    "edges": [],
    "tasks": [{"id": "source.0", "vertex": "source", "subtask": 0, "number": 0, "inputs": [], "outputs": []}],
    "complete": True,
}


def write_bundle(path: Path, name: str = "tiny") -> Path:
    """The smallest bundle there is; its content differs with its name."""
    path.mkdir(parents=True)
    manifest = MANIFEST | {"job": MANIFEST["job"] | {"name": name}}  # type: ignore[operator]
    (path / "job.json").write_text(json.dumps(manifest))
    return path


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory, django_db_blocker) -> Path:
    path = tmp_path_factory.mktemp("database") / "migrated.sqlite3"
    with using_database(f"sqlite://{path}", django_db_blocker):
        call_command("migrate", verbosity=0)
    return path


class using_database:
    """Lets `default` be another database, in all threads that begin meanwhile."""

    def __init__(self, url: str, django_db_blocker) -> None:
        self.entry = environment.database(url, Path("/nowhere"))
        self.blocker = django_db_blocker

    def __enter__(self) -> None:
        self.unblocked = self.blocker.unblock()
        self.unblocked.__enter__()
        self._become(connections.configure_settings({"default": self.entry})["default"])

    def __exit__(self, *fault: object) -> None:
        self._become(self.before, back=True)
        self.unblocked.__exit__(*fault)

    def _become(self, entry: dict, back: bool = False) -> None:
        connections.close_all()
        if not back:
            self.before = connections.settings["default"]
        connections.settings["default"] = entry
        if hasattr(connections._connections, "default"):
            del connections["default"]


@pytest.fixture
def data(tmp_path: Path, settings) -> Path:
    settings.DATA = settings.LAKE_ROOT = tmp_path / "data"
    settings.STORE = settings.DATA / "store"
    settings.LAKE = settings.DATA / "lake"
    settings.STAGING = settings.DATA / "staging"
    settings.SECRET_KEY_FILE = settings.DATA / "secret-key"
    folder.prepare()
    return settings.DATA


@pytest.fixture
def sqlite(data: Path, migrated_sqlite: Path, django_db_blocker) -> Iterator[str]:
    shutil.copy(migrated_sqlite, data / "clonoscope.sqlite3")
    with using_database(f"sqlite://{data}/clonoscope.sqlite3", django_db_blocker):
        yield "sqlite"


@pytest.fixture(scope="session")
def migrated_postgres(running_postgres: PostgresServer, django_db_blocker) -> str:
    url = running_postgres.create_database()
    with using_database(url, django_db_blocker):
        call_command("migrate", verbosity=0)
    return url


@pytest.fixture
def postgres(data: Path, running_postgres: PostgresServer, migrated_postgres: str, django_db_blocker) -> Iterator[str]:
    url = running_postgres.create_database(like=migrated_postgres)
    with using_database(url, django_db_blocker):
        yield "postgres"
    running_postgres.drop_database(url)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def database(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


@pytest.fixture
def owner(request: pytest.FixtureRequest) -> User:
    used = "database" if "database" in request.fixturenames else "sqlite"
    request.getfixturevalue(used)
    return User.objects.create_user("ada")


_numbers = count()


@pytest.fixture
def store_in_bucket(data: Path, settings, bucket: None) -> InBucket:
    """A prefix of its own, where bundles are objects."""
    settings.STORE_BUCKET = place_of(f"s3://{BUCKET}/store/{next(_numbers)}")
    return settings.STORE_BUCKET
