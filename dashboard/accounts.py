"""The first account of a new data folder, and who acts when a command names nobody."""

from __future__ import annotations

from django.contrib.auth.models import User

FIRST = "admin"


class NoSuchUser(Exception):
    """There is no account of that name."""


def first_account() -> User:
    """Made without a password: one-time links let it in, and its holder may set one."""
    existing = User.objects.filter(is_superuser=True, is_active=True).order_by("id").first()
    if existing is not None:
        return existing
    return User.objects.create_superuser(FIRST)


def named(name: str | None) -> User:
    if not name:
        return first_account()
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise NoSuchUser(f"There is no active account named {name!r}. Invite them on the People page first.")
    return user
