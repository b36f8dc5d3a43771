"""Notes on steps of a replay: read by all who may see it, written by who may change it, changed by their author."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dashboard.models.replays import Replay

MOST_NOTES = 200
MOST_TEXT = 2_000


class Note(models.Model):
    """On one step where `first` and `last` are the same, else on all from the one to the other."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notes")
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        # As they stand on the strip; of those that begin at one step the oldest first.
        ordering = ["first", "id"]

    def __str__(self) -> str:
        return f"note {self.pk} of {self.replay_id}"
