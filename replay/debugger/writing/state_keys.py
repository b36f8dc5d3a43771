"""An operator's state as flat keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encoded(value: Any) -> str:
    """A value of the state as JSON; whole numbers, the commonest by far, in their own way."""
    return repr(value) if type(value) is int else _encode(value)


def flat_key(name: str, key: Any) -> str:
    """Of a map's entry: `left[42]`."""
    return f"{name}[{key if isinstance(key, str) else encoded(key)}]"


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
    elif is_map(value):
        for key, inner in value:
            yield flat_key(name, key), encoded(inner)
    else:
        yield name, encoded(value)


def is_map(value: Any) -> bool:
    """Whether it is a list of pairs, as maps stand in snapshots."""
    return isinstance(value, list) and set(map(type, value)) == {list} and set(map(len, value)) == {2}
