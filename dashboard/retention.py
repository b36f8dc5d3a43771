"""Retention by age: jobs and the log of looks at payloads go when they are old enough, but for what is on hold."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils import timezone

from dashboard import jobs
from dashboard.models import Job, LegalHold, PayloadLook
from dashboard.models.status import ENDED

log = logging.getLogger("clonoscope.work")

BY = "retention"
# In one sweep; the next one takes more.
MOST_AT_ONCE = 20


def retire() -> list[str]:
    """The ids of jobs that went now."""
    gone = []
    if settings.RETENTION_DAYS:
        for job in _due(settings.RETENTION_DAYS)[:MOST_AT_ONCE]:
            try:
                jobs.delete_job(job, None, by=f"{BY} after {settings.RETENTION_DAYS} days")
            except jobs.OnHold:
                continue  # put on hold this very moment
            log.info("job %s was retired: it is older than %s days", job.id, settings.RETENTION_DAYS)
            gone.append(job.id)
    if settings.PAYLOAD_LOG_DAYS:
        old = timezone.now() - timedelta(days=settings.PAYLOAD_LOG_DAYS)
        PayloadLook.objects.filter(at__lt=old).exclude(job_id__in=LegalHold.objects.values("job_id")).delete()
    return gone


def _due(days: int) -> list[Job]:
    """Old enough, at rest and not on hold; the oldest first."""
    old = timezone.now() - timedelta(days=days)
    held = Exists(LegalHold.objects.filter(job=OuterRef("pk")))
    return list(Job.objects.filter(~held, created_at__lt=old, status__in=ENDED).order_by("created_at", "id"))
