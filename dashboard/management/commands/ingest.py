"""`ingest PATH`: stores a bundle and brings it into the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard import accounts, jobs
from dashboard.management.base import ERROR, GOOD, Failure, Outcome, WrongUse
from dashboard.management.base import Command as Base
from dashboard.models import Job
from dashboard.opening import open_folder
from dashboard.work.watch import until_ended

NO_FOLLOWING = "refused by this version: a recording that still grows cannot be read yet; ingest it when it is complete"


class Command(Base):
    help = "Ingests the bundle at PATH: a folder, .zip, .tar, .tar.gz or .tar.zst."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path)
        parser.add_argument("--as", dest="user", metavar="USER", help="whose job it becomes (default: first account)")
        parser.add_argument("--follow", action="store_true", help=NO_FOLLOWING)

    def run(self, **options: Any) -> Outcome:
        if options["follow"]:
            raise WrongUse(f"--follow is {NO_FOLLOWING}.")
        path: Path = options["path"]
        if not path.exists():
            raise Failure(f"{path} does not exist.")
        first = open_folder()
        user = accounts.named(options["user"]) if options["user"] else first
        job = jobs.create_job_from_file(user, path, path.name)
        jobs.reingest_if_older(job)
        until_ended(job, command=f"ingest {path}", say=self.stderr.write)
        return _outcome(job)


def _outcome(job: Job) -> Outcome:
    text = f"{job.id} is {job.status}." + (f" {job.message}" if job.message else "")
    fields = {"job": job.id, "status": job.status, "rejects": job.rejects}
    if job.readable:
        return Outcome(text, fields, GOOD)
    return Outcome(text, {**fields, "error": job.message or f"The job is {job.status}."}, ERROR)
