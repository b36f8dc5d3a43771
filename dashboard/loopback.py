"""Login links of the embedded mode: only where the server listens to its own machine alone."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User

from dashboard.environment import SettingError
from dashboard.people import links


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def links_allowed(address: str) -> bool:
    return settings.EMBEDDED and is_loopback(urlsplit(address).hostname or "")


def login_link(user: User, address: str) -> str:
    """The address with a secret that the database holds only as a digest; it is printed, never logged."""
    if not links_allowed(address):
        raise SettingError(
            "Login links are made only in embedded mode on a loopback address. Issue a reset link on the People page."
        )

    return address.rstrip("/") + links.issue(user, links.Purpose.LOGIN)
