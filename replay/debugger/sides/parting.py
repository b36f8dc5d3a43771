"""Where two values part: of what two attempts did in one place, the names whose values are not the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from replay.debugger.writing.words import shortened
from replay.errors import printable
from replay.model import json_bytes

MOST_PARTS = 6
"""More names than this are counted."""
_DEEPEST = 32
_OF_A_RECORD = ("key", "timestamp", "value")
_NOTHING = object()


def parts_of(first: tuple[Any, ...], second: tuple[Any, ...]) -> dict[str, Any]:
    """As reports hold it; nothing of what isn't told in names, and where all of it is another."""
    one, other = _told(first), _told(second)
    if one is None or other is None:
        return {}
    found = list(_parts(one, other, "", 0))
    named = [
        {"at": printable(at) or "value", "first": _said(mine), "second": _said(theirs)}
        for at, mine, theirs in found[:MOST_PARTS]
    ]
    return {"parts": named, "more_parts": len(found) - len(named)} if named else {}


def _told(what: tuple[Any, ...]) -> dict[str, Any] | None:
    """A call or a line of the recording, as it was kept to be compared."""
    if not what or not isinstance(what[-1], bytes):
        return None
    try:
        found = json.loads(what[-1])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _parts(one: Any, other: Any, at: str, depth: int) -> Iterator[tuple[str, Any, Any]]:
    if one == other and type(one) is type(other):
        return
    if isinstance(one, dict) and isinstance(other, dict) and depth < _DEEPEST and not _is_token(one, other):
        for name in [*one, *(name for name in other if name not in one)]:
            yield from _parts(one.get(name, _NOTHING), other.get(name, _NOTHING), _below(at, name), depth + 1)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other) and depth < _DEEPEST:
        names = _OF_A_RECORD if at == "record" and len(one) == len(_OF_A_RECORD) else None
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _parts(mine, theirs, names[number] if names else f"{at}[{number}]", depth + 1)
    else:
        yield at, one, other


def _below(at: str, name: str) -> str:
    return name if at in ("", "value") else f"{at}.{name}"


def _is_token(*values: dict[str, Any]) -> bool:
    return any(set(value) == {"redacted"} for value in values)


def _said(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, dict) and set(value) == {"redacted"}:
        return f"redacted {shortened(value['redacted'])}"
    return shortened(json_bytes(value).decode())
