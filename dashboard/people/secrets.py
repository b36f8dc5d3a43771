"""Secrets that are shown once and kept as digests: 256 random bits need no salt and no slow hash."""

from __future__ import annotations

import hashlib
import secrets


def new_secret(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
