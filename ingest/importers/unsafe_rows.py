"""Spark's UnsafeRow by its schema: a bitset of nulls, eight bytes a field, and behind them what has no fixed size.

Of types that are not read here the bytes are kept in hexadecimal, and named.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

MOST_FIELDS = 4_096
MOST_DEPTH = 16
_FIXED: dict[str, struct.Struct] = {
    "boolean": struct.Struct("<?"),
    "byte": struct.Struct("<b"),
    "short": struct.Struct("<h"),
    "integer": struct.Struct("<i"),
    "date": struct.Struct("<i"),
    "long": struct.Struct("<q"),
    "timestamp": struct.Struct("<q"),
    "timestamp_ntz": struct.Struct("<q"),
    "float": struct.Struct("<f"),
    "double": struct.Struct("<d"),
}
_WORD = struct.Struct("<q")


class NotARow(Exception):
    """The bytes are no row of this schema; says why."""


def read_row(data: bytes, schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """The row as JSON can hold it: numbers, texts, null, objects; timestamps in microseconds, dates in days."""
    fields = fields_of(schema)
    if depth > MOST_DEPTH:
        raise NotARow(f"its schema is nested deeper than {MOST_DEPTH}")
    nulls_bytes = (len(fields) + 63) // 64 * 8
    if len(data) < nulls_bytes + 8 * len(fields) or len(data) % 8:
        raise NotARow(f"{len(data)} bytes hold no row of {len(fields)} fields")
    row: dict[str, Any] = {}
    for n, (name, kind) in enumerate(fields):
        # Two fields of one name are told apart by their place.
        name = name if name not in row else f"{name} ({n})"
        is_null = data[n // 64 * 8 + n % 64 // 8] >> n % 8 & 1
        row[name] = None if is_null else _value(data, nulls_bytes + 8 * n, kind, depth)
    return row


def fields_of(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(name, type) of each field of a struct, as Spark writes schemas in JSON."""
    fields = schema.get("fields") if isinstance(schema, Mapping) and schema.get("type") == "struct" else None
    if not isinstance(fields, list) or len(fields) > MOST_FIELDS:
        raise NotARow("its schema is no struct")
    if not all(isinstance(one, Mapping) and isinstance(one.get("name"), str) and "type" in one for one in fields):
        raise NotARow("a field of its schema has no name or no type")
    return [(str(one["name"]), one["type"]) for one in fields]


def _value(data: bytes, at: int, kind: Any, depth: int) -> Any:
    if isinstance(kind, str) and kind in _FIXED:
        value = _FIXED[kind].unpack_from(data, at)[0]
        return value if value == value and value not in (float("inf"), float("-inf")) else str(value)
    (word,) = _WORD.unpack_from(data, at)
    if isinstance(kind, str) and kind.startswith("decimal(") and _digits(kind) <= 18:
        return {"unscaled": word, "type": kind}
    begin, size = word >> 32 & 0xFFFFFFFF, word & 0xFFFFFFFF
    if begin + size > len(data):
        raise NotARow(f"a field points to bytes {begin} to {begin + size} of {len(data)}")
    content = data[begin : begin + size]
    if kind == "string":
        return content.decode("utf-8", "backslashreplace")
    if isinstance(kind, Mapping) and kind.get("type") == "struct":
        return read_row(content, kind, depth + 1)
    named = kind if isinstance(kind, str) else kind.get("type") if isinstance(kind, Mapping) else None
    return {"unread": str(named), "hex": content.hex()}


def _digits(kind: str) -> int:
    digits = kind.removeprefix("decimal(").partition(",")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 4 else 99
