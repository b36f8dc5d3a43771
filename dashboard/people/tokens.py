"""API tokens: shown once, kept as digests, revocable at any moment."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.models import ApiToken
from dashboard.people.secrets import digest_of, new_secret

PREFIX = "clo_"
# Used a thousand times a minute, a token is written down once.
LAST_USED_EVERY = timedelta(minutes=1)


def issue(user: User, name: str) -> tuple[ApiToken, str]:
    secret = new_secret(PREFIX)
    return ApiToken.objects.create(user=user, name=name, digest=digest_of(secret)), secret


def token_of(secret: str) -> ApiToken | None:
    """The token that still holds, of a person who may still log in."""
    tokens = ApiToken.objects.select_related("user")
    return tokens.filter(digest=digest_of(secret), revoked_at=None, user__is_active=True).first()


def note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_EVERY:
        ApiToken.objects.filter(id=token.id).update(last_used_at=now)


def revoke(token: ApiToken) -> None:
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
