"""`export JOB --out PATH`: the bundle as it was uploaded, member by member."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard import bundles, payloads
from dashboard.management.base import Command as Base
from dashboard.management.base import Failure, Outcome
from dashboard.models import Job
from dashboard.opening import open_folder


class Command(Base):
    help = "Writes the bundle of JOB to PATH; its suffix names the container, none is a folder."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="JOB")
        parser.add_argument("--out", metavar="PATH", type=Path, required=True)

    def run(self, **options: Any) -> Outcome:
        open_folder()
        job = Job.objects.filter(id=options["job"]).first()
        if job is None:
            raise Failure(f"There is no job {options['job']} in this data folder; `jobs` lists them.")
        payloads.note_command(job.id, f"export to {options['out'].name}")
        with bundles.bundle(job.id) as pack:
            members = export(pack, options["out"])
        fields = {"job": job.id, "out": str(options["out"]), "members": members, "content_id": job.content_id}
        return Outcome(f"Wrote {members} members to {options['out']}.", fields)


def export(pack_path: Path, out: Path) -> int:
    """How many members were written."""
    from replay.bundle.giving_back import give_back
    from replay.bundle.pack import Pack

    with closing(Pack(pack_path)) as pack:
        return give_back(pack, out)
