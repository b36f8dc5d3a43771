"""What lies in the store and the lake held against its rows and checksums, and mended where that can be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from dashboard import bundles, following, jobs, store
from dashboard.models import Job
from dashboard.models.status import READABLE
from dashboard.work import leftovers
from ingest.lake.errors import OutOfReach
from ingest.lake.packs import open_pack
from replay.errors import ReplayError

BELONGS = "belongs to nothing."


@dataclass(frozen=True, slots=True)
class Damage:
    """`mended` says what was done about it; empty where nothing can be, or was asked for."""

    job: str
    what: str
    mended: str = ""
    harmless: bool = False
    """It takes room, and the next start of a server removes it."""

    def __str__(self) -> str:
        return f"{self.job}: {self.what}" + (f" {self.mended}" if self.mended else "")


def damages(*, checksums: bool, mend: bool) -> Iterator[Damage]:
    """Of every job at rest: its bundle, byte by byte if `checksums`, and its tables; and what crashes left."""
    for job in Job.objects.order_by("created_at", "id"):
        bundle = _bundle(job, checksums)
        if bundle:
            yield Damage(job.id, bundle)
        tables = _tables(job) if job.status in READABLE else ""
        if tables:
            yield Damage(job.id, tables, _ingested_anew(job) if mend and not bundle else "")
    for path in leftovers.remove() if mend else [one.place for one in leftovers.found()]:
        what, mended = (BELONGS, "It was removed.") if mend else (f"{BELONGS} --mend removes it.", "")
        yield Damage(store.job_of(Path(path.name)) or path.name, f"{path} {what}", mended, harmless=True)


def _bundle(job: Job, checksums: bool) -> str:
    path = bundles.address(job.id)
    try:
        with closing(open_pack(path)) as pack:
            told, whole = pack.content_id, pack.whole_content_id()
            wrong = pack.changed() if checksums else None
    except FileNotFoundError:
        return f"its bundle {path} is missing. Delete the job and upload the bundle again."
    except (ReplayError, UnicodeDecodeError) as fault:
        return f"its bundle can't be read: {fault}"
    if wrong is not None:
        return f"its bundle {path} has changed since it was stored: {wrong} has another checksum. Restore it."
    # Of what is followed the bundle comes first, and the row with the next version of its tables.
    if told != whole or (told != job.content_id and not (following.grows(job) or job.following)):
        return f"its bundle {path} is not the one that was stored: its content id is another. Restore it."
    return ""


def _tables(job: Job) -> str:
    from ingest.lake.manifest import LakeManifest
    from ingest.lake.places import size_of
    from ingest.lake.publish import published_folder
    from ingest.launch import IngestError

    try:
        folder = published_folder(settings.LAKE_ROOT, job.id)
        manifest = LakeManifest.read(folder)
        for file in (*manifest.files, *manifest.log_index):
            if size_of(folder / file.path) != file.bytes:
                return f"its table {file.path} is missing or cut short."
    except OutOfReach:  # nothing is known of them, so nothing is to be mended
        raise
    except IngestError as fault:
        return f"its tables can't be read: {fault}"
    return ""


def _ingested_anew(job: Job) -> str:
    """The store is the truth: what is derived from it can be made again."""
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if row.status not in READABLE:
            return ""
        jobs.requeue(row, "Its tables were damaged.")
    return "It was queued to be ingested again."
