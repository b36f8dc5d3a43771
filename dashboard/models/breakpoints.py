"""Breakpoints: searches kept with a replay, for all who may see it; who may change the replay may change them."""

from __future__ import annotations

from django.db import models

from dashboard.models.replays import Replay

MOST_BREAKPOINTS = 32
MOST_LABEL = 120


class Breakpoint(models.Model):
    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="breakpoints")
    search = models.TextField()
    label = models.CharField(max_length=MOST_LABEL, blank=True, default="")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"breakpoint {self.pk} of {self.replay_id}"
