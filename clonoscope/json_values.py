"""Values as JSON: bytes as `{"b64": …}`, as the log format has it; nothing is ever made into other objects."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from replay.model import json_bytes, read_json


def to_json(value: Any) -> Any:
    """The value as JSON gives it back; raises `TypeError` or `ValueError` where there is none."""
    return read_json(json_bytes(encoded(value)))


def encoded(value: Any) -> Any:
    """What JSON knows in place of what it doesn't; what else there may be is found when it is written."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"b64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, dict):
        return {key: encoded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(one) for one in value]
    return value


def from_json(value: Any) -> Any:
    """The value again."""
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(value.get("b64"), str):
            try:
                return base64.b64decode(value["b64"], validate=True)
            except binascii.Error:
                return value
        return {key: from_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [from_json(one) for one in value]
    return value


def json_in(text: Any) -> Any:
    """What a text holds that is a JSON object or array; anything else as it is."""
    if isinstance(text, str) and text[:1] in ("{", "["):
        try:
            return read_json(text.encode())
        except ValueError:
            return text
    return text
