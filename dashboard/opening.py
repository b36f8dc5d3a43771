"""Opening a data folder: made if new, migrated if old, with its first account; by one process at a time."""

from __future__ import annotations

import fcntl

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from dashboard import accounts, folder


def open_folder() -> User:
    """Ready to work with; the first account."""
    folder.prepare()
    with open(settings.DATA / "migrate.lock", "a") as lock:
        # Two commands on a new folder would both create its tables.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_behind():
            call_command("migrate", verbosity=0, interactive=False)
        return accounts.first_account()


def is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
