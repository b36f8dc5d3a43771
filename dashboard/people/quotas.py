"""What a person may store, and what is stored: bundles in the store and uploads under way, by their announced size."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum

from dashboard.models import Job, Quota, Replay, Upload


def quota_bytes(user: User) -> int:
    own = Quota.objects.filter(user=user).values_list("max_bytes", flat=True).first()
    return int(settings.QUOTA_BYTES if own is None else own)


def stored_bytes(user: User) -> int:
    """Bundles, and steps that were uploaded."""
    owned = (kind.objects.filter(owner=user).aggregate(sum=Sum("bytes"))["sum"] for kind in (Job, Replay))
    return sum(int(one or 0) for one in owned)


def used_bytes(user: User) -> int:
    coming = Upload.objects.filter(owner=user).aggregate(sum=Sum("size"))["sum"] or 0
    return stored_bytes(user) + int(coming)
