"""Who is asking: an API token in the header, or else the session in the cookie. For HTTP and sockets alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.cookie import parse_cookie

from dashboard.people import tokens


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request brought along; asked again later, it tells whether it still holds."""

    token: str | None = None
    session_key: str | None = None

    def user(self) -> User | None:
        if self.token is not None:
            token = tokens.token_of(self.token)
            return token.user if token else None
        return _user_of_session(self.session_key) if self.session_key else None


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header; None where it carries none."""
    scheme, _, value = (header or "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def credential_of(headers: Mapping[str, str]) -> Credential:
    token = bearer(headers.get("authorization"))
    if token is not None:
        return Credential(token=token)
    return Credential(session_key=parse_cookie(headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME))


def _user_of_session(session_key: str) -> User | None:
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user: Any = get_user(request)
    return user if user.is_authenticated and user.is_active else None


def person(request: HttpRequest) -> User:
    """The one who is logged in, behind a decorator that has made sure of it."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return user
