"""Uploads under way; the bytes lie in the store's uploads folder under the upload's id."""

from django.conf import settings
from django.db import models

from dashboard.models.ids import new_id


def new_upload_id() -> str:
    return new_id("u")


class Upload(models.Model):
    id = models.CharField(primary_key=True, max_length=14, default=new_upload_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=200)
    size = models.BigIntegerField()
    offset = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.offset} of {self.size} bytes)"
