"""Removing uploads that nobody will finish: their owner never came back, or the process that took them was killed."""

from __future__ import annotations

import fcntl
import os
import time
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from dashboard import store
from dashboard.models import Upload
from dashboard.uploads.landing import FORM_SUFFIX

# A resumable upload waits this long for its next piece.
WAITING_S = 2 * 86_400
# Between a file's beginning and its lock, and between a row and its file, lie moments.
GRACE_S = 60


def remove_abandoned() -> list[Path]:
    """Safe beside uploads under way, in this process and in others: those hold their file's lock."""
    removed = []
    for path in sorted(store.uploads().iterdir()) if store.uploads().is_dir() else []:
        upload_id = path.name.removesuffix(FORM_SUFFIX)
        if _age_s(path) > _life_s(path, upload_id) and _remove(path, upload_id):
            removed.append(path)
    _remove_rows_without_file()
    return removed


def _life_s(path: Path, upload_id: str) -> int:
    """A form is over with its request, which would hold the lock; a resumable upload may go on, if it has a row."""
    resumable = not path.name.endswith(FORM_SUFFIX)
    return WAITING_S if resumable and Upload.objects.filter(id=upload_id).exists() else GRACE_S


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0


def _remove(path: Path, upload_id: str) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Upload.objects.filter(id=upload_id).delete()
        path.unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(file)


def _remove_rows_without_file() -> None:
    long_ago = timezone.now() - timedelta(seconds=GRACE_S)
    for upload_id in Upload.objects.filter(created_at__lt=long_ago).values_list("id", flat=True):
        files = (store.uploads() / upload_id, store.uploads() / (upload_id + FORM_SUFFIX))
        if not any(path.exists() for path in files):
            Upload.objects.filter(id=upload_id).delete()
