"""Which pages may open a socket here: our own. A token cannot be sent by a stranger's page, so it needs no origin."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

from dashboard.people.identity import Credential


def may_connect(headers: Mapping[str, str], credential: Credential) -> bool:
    host = headers.get("host", "")
    if not validate_host(_name_of(host), settings.ALLOWED_HOSTS):
        return False
    origin = headers.get("origin")
    if origin is None:
        return credential.token is not None
    return origin in settings.CSRF_TRUSTED_ORIGINS or urlsplit(origin).netloc.lower() == host.lower()


def _name_of(host: str) -> str:
    """Without the port; of an IPv6 address with its brackets."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()
