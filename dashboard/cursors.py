"""Cursors of pages: the key of the last row, never a row's number, so that a page begins where the last one ended."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from dashboard.problems import Problem

CURSOR_LENGTH = 4096


def to_cursor(key: Sequence[Any]) -> str:
    raw = json.dumps(list(key), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def from_cursor(cursor: str, types: Sequence[type]) -> list[Any]:
    """The key; a Problem where the cursor is not one that this page gave."""
    if len(cursor) > CURSOR_LENGTH:
        raise _bad()
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        raise _bad() from None
    if not isinstance(key, list) or len(key) != len(types):
        raise _bad()
    for value, kind in zip(key, types, strict=True):
        fits = value is None or type(value) is kind
        if not fits or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            raise _bad()
    return key


def _bad() -> Problem:
    return Problem(422, "cursor: this is no cursor of this page. Begin without one.", code="bad-cursor")
