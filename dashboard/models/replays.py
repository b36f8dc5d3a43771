"""Replays: of one task's failure, or of one attempt; their steps are in the lake."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from dashboard.models.ids import new_id
from dashboard.models.jobs import Job
from dashboard.models.status import READABLE, Status


def new_replay_id() -> str:
    return new_id("r")


class ReplayQuerySet(models.QuerySet["Replay"]):
    def visible_to(self, user: Any) -> ReplayQuerySet:
        return self.filter(job__in=Job.objects.visible_to(user))


class Verdict(models.TextChoices):
    IDENTICAL = "identical"
    DIVERGED = "diverged"
    FREE = "free"
    UNKNOWN = "unknown"
    FORKED = "forked"


class OnDivergence(models.TextChoices):
    STOP = "stop"
    GO_ON = "go-on"


class Until(models.TextChoices):
    RUNNING = "running"
    SNAPSHOT = "snapshot"
    END = "end"


class Replay(models.Model):
    # Not a column: true on a row of which a request may not show what it says.
    hidden = False

    id = models.CharField(primary_key=True, max_length=14, default=new_replay_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="replays")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="replays")
    task = models.CharField(max_length=200, blank=True, default="")
    failure = models.IntegerField(null=True, blank=True)
    attempt = models.IntegerField(null=True, blank=True)
    until = models.CharField(max_length=8, choices=Until, default=Until.SNAPSHOT)
    on_divergence = models.CharField(max_length=8, choices=OnDivergence, default=OnDivergence.STOP)
    hunt = models.BooleanField(default=False)
    # Of a fork: what it is a fork of, at which step, and the change as `replay.debugger.forks` reads it.
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="forks")
    fork_step = models.BigIntegerField(null=True, blank=True)
    change = models.JSONField(null=True, blank=True)
    # Of a fork of a fork: [{step, change}] of those before it, the first one first. They may be deleted meanwhile.
    before = models.JSONField(default=list, blank=True)
    # Of a fork of recoveries replayed together, the step as the own replay of the task that does it numbers it.
    own_step = models.BigIntegerField(null=True, blank=True)
    # Of a fork, the step at which the replay diverged that was forked first.
    diverged_at = models.BigIntegerField(null=True, blank=True)
    # Its steps were uploaded: it was made where the job's code is, and nobody here can make it again.
    elsewhere = models.BooleanField(default=False)
    # What such steps take on the disk counts into its owner's quota.
    bytes = models.BigIntegerField(default=0)
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    message = models.TextField(blank=True, default="")
    verdict = models.CharField(max_length=16, choices=Verdict, blank=True, default="")
    sentence = models.TextField(blank=True, default="")
    detail = models.JSONField(default=dict, blank=True)
    steps = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ReplayQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return f"replay {self.id} of {self.job_id}"

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """Of recoveries that were replayed together, what each came to; empty for one by itself."""
        found = self.detail.get("tasks")
        return found if isinstance(found, list) else []

    @property
    def chain(self) -> list[dict[str, Any]]:
        """Of a fork, the changes from the replay on that is nobody's fork; empty for that."""
        return [] if self.change is None else [*self.before, {"step": self.done_at, "change": self.change}]

    @property
    def done_at(self) -> int | None:
        """Of a fork, the step that is forked, as a replay of its task alone numbers it."""
        return self.fork_step if self.own_step is None else self.own_step

    @property
    def named(self) -> str:
        """Whose it is, as far as that is known."""
        if self.task or not self.tasks:
            return self.task
        names = [str(one.get("task")) for one in self.tasks]
        return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"

    def may_be_changed_by(self, user: Any) -> bool:
        """Who started it may, and the job's owner."""
        return user.pk in (self.owner_id, self.job.owner_id)

    @property
    def readable(self) -> bool:
        return self.status in READABLE
