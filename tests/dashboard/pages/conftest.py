"""Pages on a database of their own; the store and the lake are empty folders."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard import store
from dashboard.models import Job
from ingest.lake.schema import SCHEMA_VERSION
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded
from tests.ingest.inprocess import ingested_here


@pytest.fixture(autouse=True)
def empty_house(tmp_path: Path, settings, db) -> None:
    """No test reads or writes the developer's own data folder."""
    settings.DATA, settings.STORE, settings.LAKE = tmp_path, tmp_path / "store", tmp_path / "lake"


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def guest() -> User:
    return User.objects.create_user("grace")


def as_seen_by(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def shelved(owner: User, tmp_path: Path, settings) -> Callable[[Path], Job]:
    """Makes a bundle a job of the owner's, with its tables."""

    def shelve(bundle: Path) -> Job:
        pack = store.pack_path("j_1")
        pack.parent.mkdir(parents=True, exist_ok=True)
        with open_container(bundle) as container:
            write_pack(container, pack)
        _, result = ingested_here(pack, tmp_path)
        assert result["status"] == "ready"
        settings.LAKE_ROOT = tmp_path
        facts = {"tasks": 1, "epochs": 1, "determinants": 1, **result.get("facts", {})}
        return Job.objects.create(
            id="j_1", owner=owner, name="orders", status="ready", facts=facts, schema_version=SCHEMA_VERSION
        )

    return shelve


@pytest.fixture
def job(tmp_path: Path, shelved: Callable[[Path], Job]) -> Job:
    """A small recording in which a task failed."""
    members = recorded(RecordOptions(events=2_500, seed=5, kills=("map-1.0@900",))).members
    for name in members.names():
        path = tmp_path / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(members.read(name))
    return shelved(tmp_path / "bundle")
