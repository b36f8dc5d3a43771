"""`restore FILE --data DIR`: a new data folder from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from dashboard import folder
from dashboard.backup import BackupError, restore
from dashboard.management.base import Command as Base
from dashboard.management.base import Failure, Outcome


class Command(Base):
    help = "Restores a backup into a new data folder; tables and replays are made anew at the next start."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)

    def run(self, **options: Any) -> Outcome:
        try:
            with folder.held(command="restore"):
                jobs = restore(options["file"])
        except BackupError as error:
            raise Failure(str(error)) from error
        return Outcome(f"Restored {jobs} jobs into {settings.DATA}.", {"data": str(settings.DATA), "jobs": jobs})
