"""Versions of a growing job whose tables lie in a bucket: made in the data folder, where each shares files with the
one before, and then sent.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from dashboard import bundles, store
from dashboard.models import Job
from dashboard.removal import remove_path
from ingest.lake import sending
from ingest.lake.errors import NotPublished
from ingest.lake.places import InBucket, Place
from ingest.lake.publish import published_folder
from ingest.masters import is_cluster


def is_made_here(job: Job | None) -> bool:
    """Tasks of a cluster don't see this machine's folders: of what has grown they make the tables anew, all at once."""
    in_bucket = isinstance(settings.LAKE_ROOT, InBucket) and not is_cluster(settings.SPARK_MASTER)
    return job is not None and bool(job.followed) and in_bucket


def before(job_id: str) -> Path | None:
    """The folder of the version that is published; None where there is none, or it was made elsewhere."""
    found = _before(job_id)
    return None if found is None else found.made


def _before(job_id: str) -> sending.Before | None:
    try:
        sent = published_folder(settings.LAKE_ROOT, job_id)
    except NotPublished:
        return None
    made = store.grown() / sent.name
    return sending.Before(made, sent) if isinstance(sent, InBucket) and made.is_dir() else None


def send(job_id: str, staging: Path, version: Place) -> None:
    """Before the transaction that publishes it: it may take a while."""
    if isinstance(version, InBucket):
        sending.send(staging, version, _before(job_id))


def keep(job_id: str, staging: Path, version: Place) -> None:
    """For the next one, if there will be one. Where it is lost, that one is decoded from the beginning."""
    kept = store.grown() / version.name
    others = [path for path in store.grown_of(job_id) if path != kept]
    if bundles.grows(job_id):
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging, kept)
    for path in others:
        remove_path(path)
