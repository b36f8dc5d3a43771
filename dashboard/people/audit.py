"""The audit trail: who shared, deleted, invited, or issued what."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from dashboard.models import AuditEntry


def note(actor: User | None, action: str, target: str, **detail: Any) -> None:
    AuditEntry.objects.create(actor=actor, action=action, target=target, detail=detail)
