"""Sharing a job with named people, and taking it back. Both are written to the audit trail."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from dashboard.models import Job, JobShare
from dashboard.people import audit


class SharingError(Exception):
    """Why this person cannot be shared with."""


def of(job: Job) -> QuerySet[JobShare]:
    return JobShare.objects.filter(job=job).select_related("user", "granted_by").order_by("at")


def share(job: Job, *, by: User, username: str, payloads: bool = False) -> JobShare:
    """With somebody new, or with other rights. `payloads`: they see what the recording says too."""
    user = User.objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise SharingError(f"There is no account named “{username.strip()}”.")
    if user.pk == job.owner_id:
        raise SharingError("The job is yours already.")
    with transaction.atomic():
        defaults = {"granted_by": by, "payloads": payloads}
        granted, new = JobShare.objects.select_for_update().get_or_create(job=job, user=user, defaults=defaults)
        if new:
            audit.note(by, "job.share", job.id, name=job.name, with_user=user.username, payloads=payloads)
        elif granted.payloads != payloads:
            granted.payloads = payloads
            granted.save(update_fields=["payloads"])
            audit.note(by, "job.payloads", job.id, name=job.name, with_user=user.username, payloads=payloads)
    return granted


def unshare(job: Job, *, by: User, user_id: int) -> None:
    with transaction.atomic():
        for granted in JobShare.objects.select_related("user").filter(job=job, user_id=user_id):
            granted.delete()
            audit.note(by, "job.unshare", job.id, name=job.name, with_user=granted.user.username)
