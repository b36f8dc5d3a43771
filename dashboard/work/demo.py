"""Queueing the demo job: only where the store is empty, and only once."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.models import Job, Work
from dashboard.work.queue import enqueue


def queue_demo(owner: User) -> None:
    """So that the first page of a new data folder already shows something real."""
    with transaction.atomic():
        pending = Work.objects.filter(kind=Work.Kind.DEMO, state__in=[Work.State.QUEUED, Work.State.RUNNING])
        if not Job.objects.exists() and not pending.exists():
            enqueue(Work.Kind.DEMO, owner.username[:32])
