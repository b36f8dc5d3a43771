"""Tells all sockets to ask again whether they may go on, whenever somebody's access may have changed."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import post_delete, post_save

from dashboard import progress
from dashboard.models import ApiToken, Job, JobShare, Replay

ACCESS_GROUP = "access"
ACCESS_TYPE = "access.changed"


def connect_signals() -> None:
    """From the app's start: whichever way a row changes (page, API, admin), its signal comes."""
    for changing in (ApiToken, JobShare, User):
        post_save.connect(_changed, sender=changing, dispatch_uid=f"access-{changing.__name__}")
    # Logging out deletes the session; Django's own signal of it comes before that, when the socket may still see.
    for going in (ApiToken, JobShare, User, Job, Replay, Session):
        post_delete.connect(_changed, sender=going, dispatch_uid=f"access-gone-{going.__name__}")


def _changed(created: bool = False, update_fields: Any = None, **_: Any) -> None:
    # A new row grants; what is written on every login takes nothing away.
    if not created and (update_fields is None or set(update_fields) != {"last_login"}):
        transaction.on_commit(_tell)


def _tell() -> None:
    progress.send(ACCESS_GROUP, {"type": ACCESS_TYPE})
