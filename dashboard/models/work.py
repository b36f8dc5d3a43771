"""Work: what is to be done, who holds it and until when. The row is the truth; a message only wakes somebody."""

from __future__ import annotations

from django.db import models


class Work(models.Model):
    class Kind(models.TextChoices):
        INGEST = "ingest"
        REPLAY = "replay"
        DEMO = "demo"
        AUDIT = "audit"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    kind = models.CharField(max_length=16, choices=Kind)
    # The id of the job, replay or audit that this work is for.
    target = models.CharField(max_length=32, db_index=True)
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    # Counts claims; what carries an older number can no longer publish.
    attempt = models.IntegerField(default=0)
    # How many of the attempts ended with the death of the child that did the work.
    deaths = models.IntegerField(default=0)
    lease_owner = models.CharField(max_length=300, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    phase = models.CharField(max_length=64, blank=True, default="")
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    unit = models.CharField(max_length=32, blank=True, default="")
    message = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["state", "lease_until"], name="work_state_lease")]
        constraints = [
            # Two pieces of work for one target would publish over one another.
            models.UniqueConstraint(
                fields=["kind", "target"],
                condition=models.Q(state__in=["queued", "running"]),
                name="one_open_work_per_target",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target} ({self.state}, attempt {self.attempt})"
