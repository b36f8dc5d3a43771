"""Sharing a job with named people, and taking it back. Both are written to the audit trail."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.models import Job, JobShare
from dashboard.people import audit


class SharingError(Exception):
    """Why this person cannot be shared with."""


def share(job: Job, *, by: User, username: str) -> JobShare:
    user = User.objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise SharingError(f"There is no account named “{username.strip()}”.")
    if user.pk == job.owner_id:
        raise SharingError("The job is yours already.")
    with transaction.atomic():
        granted, new = JobShare.objects.get_or_create(job=job, user=user, defaults={"granted_by": by})
        if new:
            audit.note(by, "job.share", job.id, name=job.name, with_user=user.username)
    return granted


def unshare(job: Job, *, by: User, user_id: int) -> None:
    with transaction.atomic():
        for granted in JobShare.objects.select_related("user").filter(job=job, user_id=user_id):
            granted.delete()
            audit.note(by, "job.unshare", job.id, name=job.name, with_user=granted.user.username)
