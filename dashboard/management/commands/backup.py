"""`backup --out FILE`: database, bundles and secret key in one tar file; also while the folder is being served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard.backup import BackupError, back_up
from dashboard.management.base import Command as Base
from dashboard.management.base import Failure, Outcome
from dashboard.opening import open_folder


class Command(Base):
    help = "Writes what cannot be derived again into one tar file; it holds the secret key, so keep it private."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--out", metavar="FILE", type=Path, required=True)

    def run(self, **options: Any) -> Outcome:
        out: Path = options["out"]
        if out.exists():
            raise Failure(f"{out} exists already; choose another name.")
        open_folder()
        try:
            jobs = back_up(out)
        except BackupError as error:
            raise Failure(str(error)) from error
        return Outcome(f"Wrote {jobs} jobs to {out}.", {"out": str(out), "jobs": jobs})
