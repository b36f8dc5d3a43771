"""Who may call the API: a token in the header, or the session's cookie together with CSRF protection."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from dashboard.people import tokens
from dashboard.people.identity import bearer
from dashboard.problems import Problem


class ByToken(AuthBase):
    """`Authorization: Bearer clo_…`. A token that does not hold is refused even beside a good cookie."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> User | None:
        secret = bearer(request.headers.get("Authorization"))
        if secret is None:
            return None
        token = tokens.token_of(secret)
        if token is None:
            raise Problem(401, "This API token does not hold: it was revoked, or never issued.")
        tokens.note_use(token)
        request.user = token.user
        return token.user


class BySession(AuthBase):
    """The cookie of a person who is logged in; what changes anything also needs X-CSRFToken."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = "clonoscope_session"
    csrf = True

    def __call__(self, request: HttpRequest) -> User | None:
        if not isinstance(request.user, User) or not request.user.is_active:
            return None
        if check_csrf(request) is not None:
            raise Problem(
                403, "The request carries no valid CSRF token: send the cookie's as X-CSRFToken.", code="csrf"
            )
        return request.user


def caller(request: HttpRequest) -> User:
    """The one who calls, behind one of the two above."""
    user = request.user
    if not isinstance(user, User):
        raise Problem(401)
    return user
