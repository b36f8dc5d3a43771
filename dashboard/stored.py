"""What lies in the store and the lake held against its rows and checksums, and mended where that can be done."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from dashboard import following, jobs, store
from dashboard.models import Job
from dashboard.models.status import READABLE
from dashboard.work import leftovers
from replay.bundle.content import content_id_of, manifest_digest
from replay.bundle.members import MANIFEST
from replay.bundle.pack import Pack
from replay.errors import ReplayError

CHUNK_BYTES = 1 << 20
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
    path = store.pack_path(job.id)
    if not path.exists():
        return f"its bundle {path} is missing. Delete the job and upload the bundle again."
    try:
        with closing(Pack(path)) as pack:
            told = pack.content_id
            wrong = next((name for name in pack.names() if _is_changed(pack, name)), None) if checksums else None
            whole = content_id_of((name, pack.digest(name)) for name in pack.names())
    except (ReplayError, UnicodeDecodeError) as fault:
        return f"its bundle can't be read: {fault}"
    if wrong is not None:
        return f"its bundle {path} has changed since it was stored: {wrong} has another checksum. Restore it."
    # Of what is followed the bundle comes first, and the row with the next version of its tables.
    if told != whole or (told != job.content_id and not (following.grows(job) or job.following)):
        return f"its bundle {path} is not the one that was stored: its content id is another. Restore it."
    return ""


def _is_changed(pack: Pack, name: str) -> bool:
    if name == MANIFEST:
        return manifest_digest(pack.read(name)) != pack.digest(name)
    digest = hashlib.sha256()
    with pack.open(name) as member:
        while chunk := member.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.digest() != pack.digest(name)


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
