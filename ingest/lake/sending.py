"""Brings a version that was made in a folder into a bucket. What it shares with the one before is copied within it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ingest.lake.errors import LakeOutOfReach
from ingest.lake.manifest import LakeManifest
from ingest.lake.places import InBucket, bucket_files, put, put_file, reaching
from ingest.lake.publish import MANIFEST


@dataclass(frozen=True, slots=True)
class Before:
    """The version before, where it was made and where it was sent to."""

    made: Path
    sent: InBucket


def send(made: Path, version: InBucket, before: Before | None) -> None:
    """All that pages read, the manifest last; raises `LakeOutOfReach`. Who publishes it, publishes as ever."""
    manifest = LakeManifest.read(made)
    with reaching(version, LakeOutOfReach):
        for file in (*manifest.files, *manifest.log_index):
            if not _copied(file.path, made, version, before):
                put_file(version / file.path, made / file.path)
        put(version / MANIFEST, (made / MANIFEST).read_bytes())


def _copied(path: str, made: Path, version: InBucket, before: Before | None) -> bool:
    """Whether it was, which costs a request and no bytes; what could not be is put."""
    if before is None or not _is_shared(made / path, before.made / path):
        return False
    try:
        bucket_files().copy_file((before.sent / path).key, (version / path).key)
    except OSError:
        return False
    return True


def _is_shared(one: Path, other: Path) -> bool:
    return other.exists() and os.path.samefile(one, other)
