"""An operator's state as flat keys, and which of them changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def flat(state: Mapping[str, Any]) -> dict[str, str]:
    """`{"count": 3, "left": [[42, "x"]]}` as `{"count": "3", "left[42]": '"x"'}`: maps are lists of pairs."""
    found: dict[str, str] = {}
    for key, value in state.items():
        found.update(_of(str(key), value))
    return found


def _of(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _of(f"{name}.{key}", inner)
    elif _is_map(value):
        for key, inner in value:
            yield f"{name}[{key if isinstance(key, str) else _encode(key)}]", _encode(inner)
    else:
        yield name, _encode(value)


def _is_map(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, list) and len(one) == 2 for one in value)


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str | None, str | None]]:
    """(key, before, after), None where the key is not there."""
    for key, value in after.items():
        if before.get(key) != value:
            yield key, before.get(key), value
    if len(before) != len(after) or any(key not in after for key in before):
        for key, value in before.items():
            if key not in after:
                yield key, value, None
