"""What the log format asks of lines and of what stands in them, where jobs may give what they like: nothing that a job
gives makes its bundle one that can't be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clonoscope.errors import message_of
from replay.errors import printable
from replay.model import json_bytes

# What the name of a file may have everywhere.
VERTEX = re.compile(r"(?!\.)[A-Za-z0-9._~ -]+")
_VERTEX_MOST = 200
INT64 = range(-(1 << 63), 1 << 63)
TEXT_MOST = 2_000
# Of an event's line, which the recorder numbers itself.
_OWN = ("n", "t_us", "type", "at_us")
EVENT_NUMBERS = (
    "attempt", "re", "failure", "checkpoint", "rollback", "together", "bytes", "received", "epoch", "skip", "txn",
    "records", "records_in", "records_out", "latency_p50_us", "latency_p99_us", "offset",
)  # fmt: skip
EVENT_TEXTS = (
    "at", "task", "host", "cause", "by", "channel", "side", "from", "to", "of", "result", "why", "thread",
)  # fmt: skip
EVENT_FLAGS = ("standby",)


def vertex_called(name: str) -> str:
    """A vertex for what an engine calls so, which knows other rules for names."""
    if VERTEX.fullmatch(name):
        return name
    return "~" + "".join(c if VERTEX.fullmatch(f"_{c}") else f"~{ord(c):x}~" for c in name)[:_VERTEX_MOST]


def of_record(record: Any) -> dict[str, Any]:
    """A line's fields of a record. What is no [key, timestamp, value] is told as the value of one, which is `bare`."""
    key = None
    if isinstance(record, list) and len(record) in (3, 4):
        key, timestamp, *_ = record
        if timestamp is None or (type(timestamp) is int and timestamp in INT64):
            return {"record": record}
    return {"record": [key, None, record], "bare": True}


def record_in(line: Mapping[str, Any]) -> Any:
    """The record of a line as the job had it."""
    record = line.get("record")
    if line.get("bare") is True and isinstance(record, list) and len(record) == 3:
        return record[2]
    return record


def of_event(fields: Mapping[str, Any]) -> dict[str, Any]:
    """An event's fields. One that the format calls so, and means otherwise, has a `_` behind its name."""
    return {name if _is_meant_so(name, value) else f"{name}_": value for name, value in fields.items()}


def _is_meant_so(name: str, value: Any) -> bool:
    if name in _OWN:
        return False
    if value is None:
        return True
    if name in EVENT_NUMBERS:
        return type(value) is int and value in INT64
    if name in EVENT_TEXTS:
        return isinstance(value, str)
    return name not in EVENT_FLAGS or isinstance(value, bool)


def text(said: Any) -> str:
    """What somebody says, as a text that can be written anywhere."""
    return printable(message_of(said), TEXT_MOST)


def shown(value: Any) -> str:
    """What was given, as a message shows it."""
    try:
        return printable(repr(value))
    except Exception:
        return f"a value of the type {type(value).__qualname__}"


def writable(value: Any) -> bool:
    """Whether it can stand in a bundle's manifest, and leaves room for all else there."""
    try:
        return len(json_bytes(value)) <= 1 << 20
    except (TypeError, ValueError, RecursionError):
        return False
