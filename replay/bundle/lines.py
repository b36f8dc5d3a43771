"""JSON members: lines of objects, and single objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from replay.errors import CorruptMember
from replay.model import read_json

MAX_LINE_BYTES = 64 << 20
_WHO = frozenset(("at", "attempt", "channel", "from", "host", "of", "side", "task", "thread", "to"))
_WHAT = frozenset(("by", "cause", "checkpoint", "epoch", "failure", "re", "result", "rollback", "together", "txn"))
_NAMES = _WHO | _WHAT
"""Fields of events that are single values."""
_KNOWN = frozenset(
    (
        "attempt-started",
        "task-failed",
        "failure-detected",
        "standby-activated",
        "task-rescheduled",
        "restore-started",
        "state-restored",
        "channel-lost",
        "channel-reconnected",
        "recovery-state",
        "determinants-requested",
        "determinants-request-received",
        "determinants-returned",
        "determinants-received",
        "escalated",
        "replay-requested",
        "replay-request-received",
        "checkpoint-triggered",
        "checkpoint-completed",
        "checkpoint-aborted",
        "checkpoint-acknowledged",
        "checkpoint-notified",
        "checkpoint-ignored",
        "global-rollback",
        "epoch-precommitted",
        "epoch-committed",
        "epoch-aborted",
        "metric",
        "gap",
    )
)
"""The types whose fields the format names: those of others are their writer's."""
_REMEDY = "What stands before it is kept; record the job again to have the rest"


def read_lines(stream: BinaryIO, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line's object with its offset; a line that is none is a `CorruptMember`."""
    offset = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise CorruptMember(f"a line is longer than {MAX_LINE_BYTES} bytes", path=path, offset=offset)
        if line.strip():
            yield offset, read_object(line, path, offset)
        offset += len(line)


def read_object(data: bytes, path: str, offset: int = 0) -> dict[str, Any]:
    """One JSON object."""
    try:
        found = read_json(data)
    except ValueError as fault:
        raise CorruptMember(f"this is not JSON: {fault}", path=path, offset=offset, remedy=_REMEDY) from None
    if not isinstance(found, dict):
        raise CorruptMember("this is JSON, but not an object", path=path, offset=offset, remedy=_REMEDY)
    return found


def read_events(stream: BinaryIO, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every event with its offset; `n` must count from 0 without gaps."""
    for expected, (offset, event) in enumerate(read_lines(stream, path)):
        fault = _event_fault(event, expected)
        if fault:
            raise CorruptMember(fault, path=path, offset=offset, remedy=_REMEDY)
        yield offset, event


def _event_fault(event: dict[str, Any], expected: int) -> str | None:
    if type(event.get("n")) is not int or event["n"] != expected:
        return f"the event's n must be {expected}"
    if type(event.get("t_us")) is not int:
        return f"event {expected} has no integer t_us"
    if not isinstance(event.get("type"), str):
        return f"event {expected} has no type"
    for name, value in event.items():
        # Hardly any field is a list or an object: asked first, since a recording's events are read often.
        if type(value) in (list, dict) and name in _NAMES and event["type"] in _KNOWN:
            return f"the {name} of event {expected} is no single value"
    return None
