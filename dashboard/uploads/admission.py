"""Whether an upload may begin: its size, its owner's quota, the room on the disk. Asked before the first byte."""

from __future__ import annotations

import shutil

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from dashboard import store
from dashboard.models import Upload
from dashboard.people import quotas
from dashboard.problems import Problem

# The bundle lies on the disk twice for a moment: as it came, and as it is kept.
COPIES = 2
ROOM_LEFT_BYTES = 64 << 20
NAME_LENGTH = 200
# Each holds a row and a file, and while bytes come a connection.
MOST_UNDER_WAY = 100


def admit(user: User, name: str, size: int) -> Upload:
    """The row that reserves the room; Problem 413 or 507 where there is none."""
    if size > settings.MAX_UPLOAD_BYTES:
        raise Problem(
            413,
            f"A bundle may have {settings.MAX_UPLOAD_BYTES} bytes; this one has {size}.",
            detail={"max_bytes": settings.MAX_UPLOAD_BYTES, "bytes": size},
        )
    _check_room(size)
    with transaction.atomic():
        # Two uploads at once must not both see the room that is enough for one.
        User.objects.select_for_update().get(pk=user.pk)
        if Upload.objects.filter(owner=user).count() >= MOST_UNDER_WAY:
            raise Problem(429, f"You have {MOST_UNDER_WAY} uploads under way. Finish or delete some first.")
        _check_quota(user, size)
        return Upload.objects.create(owner=user, name=printable(name), size=size)


def printable(name: str) -> str:
    """A client's file name, fit to be shown; it never becomes a path."""
    last = name.replace("\\", "/").rpartition("/")[2] or name
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in last).strip()
    return shown[:NAME_LENGTH] or "bundle"


def _check_quota(user: User, size: int) -> None:
    quota, used = quotas.quota_bytes(user), quotas.used_bytes(user)
    if used + size > quota:
        raise Problem(
            413,
            f"This upload of {size} bytes would pass your quota: {used} of {quota} bytes are used. "
            "Delete jobs that are no longer needed, or ask for a larger quota.",
            code="over-quota",
            detail={"quota_bytes": quota, "used_bytes": used, "bytes": size},
        )


def _check_room(size: int) -> None:
    store.uploads().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(store.uploads()).free
    if free < COPIES * size + ROOM_LEFT_BYTES:
        raise Problem(
            507,
            f"The disk under the store has {free} bytes left, too few for this upload of {size} bytes. "
            "Free some space, then try again.",
            detail={"free_bytes": free, "bytes": size},
        )
