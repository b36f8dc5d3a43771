"""The statuses of jobs and replays, the same in the database, the API and on the screen."""

from django.db import models


class Status(models.TextChoices):
    UPLOADING = "uploading"
    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    READY_PARTIAL = "ready-partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


READABLE = (Status.READY, Status.READY_PARTIAL)
PENDING = (Status.UPLOADING, Status.QUEUED, Status.RUNNING)
ENDED = (Status.READY, Status.READY_PARTIAL, Status.FAILED, Status.CANCELLED)
