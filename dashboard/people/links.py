"""One-time links: to log in, to accept an invitation, to set a new password.

The secret stands in the address's fragment, which browsers send to no server: so it is in no access log, no proxy's log
and no referrer. The page reads it and posts it when its button is pressed.
"""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from dashboard.models import OneTimeLink
from dashboard.people.secrets import digest_of, new_secret

Purpose = OneTimeLink.Purpose

LIFETIMES = {
    Purpose.LOGIN: timedelta(minutes=10),
    Purpose.INVITE: timedelta(days=7),
    Purpose.RESET: timedelta(hours=24),
}
PAGES = {Purpose.LOGIN: "enter", Purpose.INVITE: "accept-invitation", Purpose.RESET: "reset-password"}
KEPT_AFTER_END = timedelta(days=30)


class LinkError(Exception):
    """The link does not hold (any more); the sentence does not say which of the reasons it was."""


def issue(user: User, purpose: OneTimeLink.Purpose, by: User | None = None) -> str:
    """A path with the secret in its fragment. Earlier links of the same purpose for the same person end."""
    now = timezone.now()
    secret = new_secret()
    with transaction.atomic():
        OneTimeLink.objects.filter(expires_at__lt=now - KEPT_AFTER_END).delete()
        if purpose != Purpose.LOGIN:
            OneTimeLink.objects.filter(user=user, purpose=purpose, used_at=None).update(used_at=now)
        OneTimeLink.objects.create(
            digest=digest_of(secret), purpose=purpose, user=user, created_by=by, expires_at=now + LIFETIMES[purpose]
        )
    return f"{reverse(PAGES[purpose])}#{secret}"


def holds(secret: str, purpose: OneTimeLink.Purpose) -> OneTimeLink | None:
    """The link, if it could be used now; looking does not use it up."""
    links = OneTimeLink.objects.select_related("user")
    return links.filter(
        digest=digest_of(secret), purpose=purpose, used_at=None, expires_at__gt=timezone.now(), user__is_active=True
    ).first()


def use(secret: str, purpose: OneTimeLink.Purpose) -> User:
    """Uses the link up: of any number of requests at once, one gets the person and all others get LinkError."""
    link = holds(secret, purpose)
    if link is None:
        raise LinkError("This link has been used, has expired or was never issued. Ask for a new one.")
    taken = OneTimeLink.objects.filter(id=link.id, used_at=None).update(used_at=timezone.now())
    if taken != 1:
        raise LinkError("This link has just been used. Ask for a new one.")
    return link.user
