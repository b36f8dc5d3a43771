"""`doctor`: looks whether everything is there that the work needs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError

from dashboard.doctor import Finding, findings
from dashboard.management.base import ERROR, GOOD, Outcome
from dashboard.management.base import Command as Base
from dashboard.models import Job
from dashboard.opening import open_folder
from dashboard.stored import damages
from ingest.lake.errors import OutOfReach


class Command(Base):
    help = "Checks this machine, its settings and the data folder."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--checksums", action="store_true", help="read every stored bundle and verify its checksums"
        )
        parser.add_argument(
            "--mend", action="store_true", help="remove what crashes left, ingest again what is damaged"
        )

    def run(self, **options: Any) -> Outcome:
        found = list(findings())
        if settings.DATA.exists():
            found.append(_stored(checksums=options["checksums"], mend=options["mend"]))
        good = all(one.good for one in found)
        lines = [f"{'ok ' if one.good else 'BAD'}  {one.name}: {one.detail}" for one in found]
        checks = [{"name": one.name, "ok": one.good, "detail": one.detail} for one in found]
        return Outcome("\n".join(lines), {"ok": good, "checks": checks}, GOOD if good else ERROR)


def _stored(*, checksums: bool, mend: bool) -> Finding:
    """Jobs held against store and lake; good if nothing is damaged but what was mended. What merely lies there is
    named."""
    try:
        open_folder()
        found = list(damages(checksums=checksums, mend=mend))
    except OutOfReach as error:
        return Finding("jobs", False, str(error))
    except (DatabaseError, OSError) as error:
        return Finding("jobs", False, f"{type(error).__name__}: {error}")
    looked = (
        "bundles, their checksums and tables" if checksums else "bundles and tables; --checksums reads bundles whole"
    )
    good = all(one.mended or one.harmless for one in found)
    return Finding("jobs", good, "; ".join(map(str, found)) or f"{Job.objects.count()} looked at: {looked}")
