"""Keys as both sides write them: a number in a record and its digits in a column are one key."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from replay.debugger.redactions import TOKEN
from replay.guarantees.outside.rows import plain
from replay.model import json_bytes

_EXACT = 1 << 53
_MOST_DIGITS = 100
_LONGEST_SHOWN = 200


def text_of(value: Any) -> str | None:
    """As a key is compared; None of what is none: null, and what is no number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return None
        return str(int(value)) if value.is_integer() and abs(value) <= _EXACT else repr(value)
    if isinstance(value, Decimal):
        return _of_decimal(value)
    found = plain(value)
    return None if found is None else found if isinstance(found, str) else json_bytes(found).decode()


def _of_decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        return None
    if abs(value.adjusted()) > _MOST_DIGITS:
        return str(value)
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def text_of_all(values: Iterable[Any]) -> str | None:
    """Of a key of several fields."""
    found = [text_of(one) for one in values]
    if any(one is None for one in found):
        return None
    return found[0] if len(found) == 1 else json_bytes(found).decode("utf-8", "replace")


def is_hidden(values: Iterable[Any]) -> bool:
    """Whether a token of redaction stands in a key that a recording holds."""
    return any(isinstance(one, dict | list) and TOKEN.search(json_bytes(one)) is not None for one in values)


def digest(text: str | bytes) -> bytes:
    """What is compared and sorted by."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16).digest()


def shown_key(text: str) -> str:
    """Fit to be shown, and not too long."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
