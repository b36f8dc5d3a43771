"""The front door's tests: in process on a database of their own, or against a real server process."""

from tests.dashboard.work.conftest import data, database, migrated_sqlite, postgres, sqlite  # noqa: F401
