"""What outlives a job, or keeps it: who looked at its payloads, legal holds, and what is left where links point."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from dashboard.models.jobs import Job


class PayloadLook(models.Model):
    """Somebody looked at what a recording says. Entries outlive their job; only retention takes them."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    job_id = models.CharField(max_length=14, db_index=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # As they were called then: an account may be renamed or deleted.
    who = models.CharField(max_length=200)
    what = models.CharField(max_length=400)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.who} {self.what}"


class LegalHold(models.Model):
    """While it stands, the job can't be deleted or retired: not even by what deletes all of a person's."""

    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="hold")
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=500)

    def __str__(self) -> str:
        return f"hold on {self.job_id} since {self.at:%Y-%m-%d} by {self.who}"


class TombstoneQuerySet(models.QuerySet["Tombstone"]):
    def visible_to(self, user: Any) -> TombstoneQuerySet:
        """Those of what they could see; to everybody else there was nothing."""
        return self.filter(viewers=user) if user.is_authenticated and user.is_active else self.none()


class Tombstone(models.Model):
    """What a deleted job or replay was called, and who deleted it when; nothing of its content."""

    target = models.CharField(primary_key=True, max_length=14)
    kind = models.CharField(max_length=8)
    name = models.CharField(max_length=300)
    deleted_at = models.DateTimeField(auto_now_add=True)
    deleted_by = models.CharField(max_length=200)
    viewers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")

    objects = TombstoneQuerySet.as_manager()

    class Meta:
        ordering = ["-deleted_at", "target"]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}, deleted {self.deleted_at:%Y-%m-%d}"

    @property
    def sentence(self) -> str:
        what = f"The job “{self.name}”" if self.kind == "job" else f"The {self.name}"
        return f"{what} was deleted by {self.deleted_by} on {self.deleted_at:%Y-%m-%d at %H:%M} UTC."
