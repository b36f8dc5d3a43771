"""The front door's tests: in process on a database of their own, or against a real server process."""

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from tests.dashboard.work.conftest import (  # noqa: F401
    data,
    database,
    migrated_postgres,
    migrated_sqlite,
    postgres,
    sqlite,
)


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashed as ever, but not a million times over."""
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 1_000)
