"""Pages on a database of their own; the store and the lake are empty folders."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client


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
