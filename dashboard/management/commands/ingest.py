"""`ingest PATH`: stores a bundle and brings it into the lake, once or as it grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard import accounts, jobs
from dashboard.management.base import ERROR, GOOD, Failure, Outcome, WrongUse
from dashboard.management.base import Command as Base
from dashboard.management.followed import followed
from dashboard.models import Job
from dashboard.opening import open_folder
from dashboard.work.watch import until_ended


class Command(Base):
    help = "Ingests the bundle at PATH: a folder, .zip, .tar, .tar.gz or .tar.zst."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path)
        parser.add_argument("--as", dest="user", metavar="USER", help="whose job it becomes (default: first account)")
        parser.add_argument(
            "--follow", action="store_true", help="PATH is a folder that is recorded into: go on until that ends"
        )

    def run(self, **options: Any) -> Outcome:
        path: Path = options["path"]
        if not path.exists():
            raise Failure(f"{path} does not exist.")
        if options["follow"] and not path.is_dir():
            raise WrongUse(f"{path} is not a folder: only a folder can be followed while it is recorded into.")
        first = open_folder()
        user = accounts.named(options["user"]) if options["user"] else first
        if options["follow"]:
            return _outcome(*followed(user, path.resolve(), command=f"ingest {path} --follow", say=self.stderr.write))
        job = jobs.create_job_from_file(user, path, path.name)
        jobs.reingest_if_older(job)
        until_ended(job, command=f"ingest {path}", say=self.stderr.write)
        return _outcome(job)


def _outcome(job: Job | None, why: str = "") -> Outcome:
    if job is None:
        return Outcome(why, {"job": None, "status": None, "rejects": 0}, GOOD)
    text = " ".join(filter(None, (why, f"{job.id} is {job.status}.", job.message)))
    fields = {"job": job.id, "status": job.status, "rejects": job.rejects}
    if job.readable:
        return Outcome(text, fields, GOOD)
    return Outcome(text, {**fields, "error": job.message or f"The job is {job.status}."}, ERROR)
