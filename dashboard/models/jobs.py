"""Jobs and with whom they are shared. `visible_to` is the one rule of who sees what."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from dashboard.models.ids import new_id
from dashboard.models.status import READABLE, Status


def new_job_id() -> str:
    return new_id("j")


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, user: Any) -> JobQuerySet:
        """Their own jobs and those shared with them: for pages, API, sockets and commands alike."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        shared = JobShare.objects.filter(user=user).values("job_id")
        return self.filter(Q(owner=user) | Q(id__in=shared))

    def payloads_visible_to(self, user: Any) -> JobQuerySet:
        """Of what they may see, that of which they may also see what it says."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        granted = JobShare.objects.filter(user=user, payloads=True).values("job_id")
        return self.filter(Q(owner=user) | Q(id__in=granted))


class Job(models.Model):
    """One recording: its bundle in the store and, once ingested, its tables in the lake."""

    # Not a column: true on a row of which a request may not show what it says.
    hidden = False

    id = models.CharField(primary_key=True, max_length=14, default=new_job_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="jobs")
    name = models.CharField(max_length=200)
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    message = models.TextField(blank=True, default="")
    content_id = models.CharField(max_length=64, db_index=True)
    bytes = models.BigIntegerField(default=0)
    container = models.CharField(max_length=16, default="")
    facts = models.JSONField(default=dict, blank=True)
    rejects = models.IntegerField(default=0)
    schema_version = models.IntegerField(default=0)
    # The folder that it is recorded into; empty for what was stored at once.
    followed = models.TextField(blank=True, default="")
    following = models.BooleanField(default=False)
    replay_when_ready = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = JobQuerySet.as_manager()

    # Not a column: true on the job that a repeated upload was recognised as.
    repeated = False

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"

    @property
    def readable(self) -> bool:
        return self.status in READABLE


class JobShare(models.Model):
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_with_me")
    granted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    # A right of its own: who sees a job sees that there are records, and with this what they say.
    payloads = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "user"], name="one_share_per_job_and_user")]

    def __str__(self) -> str:
        return f"{self.job_id} with {self.user}"
