"""Words that a job's owner puts on it, by which it is found again."""

from __future__ import annotations

from django.db import models

from dashboard.models.jobs import Job

TAG_LENGTH = 40
MOST_TAGS = 20


class JobTag(models.Model):
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=TAG_LENGTH, db_index=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="one_tag_of_a_name_per_job")]

    def __str__(self) -> str:
        return self.name
