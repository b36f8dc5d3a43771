"""Tokens, one-time links, failed logins and quotas. Secrets are kept as digests only."""

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class OneTimeLink(models.Model):
    class Purpose(models.TextChoices):
        LOGIN = "login"
        INVITE = "invite"
        RESET = "reset"

    digest = models.CharField(max_length=64, unique=True)
    purpose = models.CharField(max_length=16, choices=Purpose)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="one_time_links")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.purpose} link for {self.user}"


class LoginFailure(models.Model):
    name = models.CharField(max_length=150, db_index=True)
    address = models.CharField(max_length=64, db_index=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return f"{self.name} from {self.address} at {self.at}"


class Quota(models.Model):
    """What one user may store; without a row the setting holds."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quota")
    max_bytes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.user}: {self.max_bytes} bytes"
