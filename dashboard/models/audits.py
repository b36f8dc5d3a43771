"""Audits: one of each job, the last that was asked for; the report itself is a file in the lake."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dashboard.models.jobs import Job
from dashboard.models.status import PENDING, Status


def audit_id(job_id: str) -> str:
    """What work and files of a job's audit are named by."""
    return f"a_{job_id.removeprefix('j_')}"


def job_of_audit(target: str) -> str:
    """The other way round."""
    return f"j_{target.removeprefix('a_')}"


class JobAudit(models.Model):
    # Not a column: true on a row of which a request may not show what it says.
    hidden = False

    id = models.CharField(primary_key=True, max_length=14, editable=False)
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="audit")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    message = models.TextField(blank=True, default="")
    # Of the last one that came to its end, whatever became of one that was asked for after it.
    report = models.CharField(max_length=64, blank=True, default="")
    verdict = models.CharField(max_length=16, blank=True, default="")
    processing = models.CharField(max_length=16, blank=True, default="")
    delivery = models.CharField(max_length=16, blank=True, default="")
    good = models.BooleanField(null=True, blank=True)
    version = models.IntegerField(default=0)
    made_at = models.DateTimeField(null=True, blank=True)
    # Of the recording as it was audited, which may have grown since.
    content_id = models.CharField(max_length=64, blank=True, default="")
    epochs = models.IntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"audit of {self.job_id}"

    @property
    def pending(self) -> bool:
        return self.status in PENDING

    @property
    def behind(self) -> bool:
        """Whether the recording has more by now than the last report is of."""
        return bool(self.report and self.content_id) and self.content_id != self.job.content_id

    @property
    def newer_epochs(self) -> int:
        """That the last report knows nothing of; none where all of what is new belongs to epochs that it knows."""
        if not self.behind or self.epochs is None:
            return 0
        return max(0, self.job.facts.get("epochs", 0) - self.epochs)
