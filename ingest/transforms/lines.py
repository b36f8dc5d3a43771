"""JSON lines of hostile members: bounded lines with their offsets, and fields taken out by type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from replay.errors import CorruptMember
from replay.model import json_bytes, read_json

MAX_LINE_BYTES = 16 << 20
_REMEDY = "What stands before it is kept; record the job again to have the rest"
_INT64 = range(-(1 << 63), 1 << 63)


def fault_at(why: str, path: str, offset: int) -> CorruptMember:
    return CorruptMember(why, path=path, offset=offset, remedy=_REMEDY)


class Fields:
    """One line's object. What is taken out is of the type that the format says, or absent; else the line is corrupt."""

    __slots__ = ("_left", "offset", "path")

    def __init__(self, members: dict[str, Any], path: str, offset: int) -> None:
        self._left = members
        self.path = path
        self.offset = offset

    def fault(self, why: str) -> CorruptMember:
        return fault_at(why, self.path, self.offset)

    def number(self, name: str) -> int | None:
        value = self._left.pop(name, None)
        if value is None or (type(value) is int and value in _INT64):
            return value
        raise self.fault(f"the field {name} is not a 64-bit integer")

    def needed_number(self, name: str) -> int:
        value = self.number(name)
        if value is None:
            raise self.fault(f"the field {name} is missing")
        return value

    def text(self, name: str) -> str | None:
        value = self._left.pop(name, None)
        if value is None or isinstance(value, str):
            return value
        raise self.fault(f"the field {name} is not text")

    def flag(self, name: str) -> bool | None:
        value = self._left.pop(name, None)
        if value is None or isinstance(value, bool):
            return value
        raise self.fault(f"the field {name} is neither true nor false")

    def json(self, name: str) -> str | None:
        """Whatever it is, as JSON text."""
        return self.as_json(self._left.pop(name)) if name in self._left else None

    def value(self, name: str) -> Any:
        return self._left.pop(name, None)

    def rest(self) -> str | None:
        """Fields that nobody took, as JSON text."""
        return self.as_json(self._left) if self._left else None

    def as_json(self, value: Any) -> str:
        try:
            return json_bytes(value).decode()
        except RecursionError:
            raise self.fault("the line is nested too deeply") from None


def read_lines(stream: BinaryIO, path: str) -> Iterator[Fields]:
    """Every object of a member, up to the end or the first fault, which is raised."""
    offset = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise fault_at(f"the line is longer than {MAX_LINE_BYTES} bytes", path, offset)
        if line.strip():
            yield Fields(_object(line, path, offset), path, offset)
        offset += len(line)


def record_columns(fields: Fields) -> tuple[str | None, int | None, str | None]:
    """Key, timestamp and value of a line's `record`, keys and values as JSON text; all None where it has none."""
    record = fields.value("record")
    if record is None:
        return None, None, None
    if not isinstance(record, list) or len(record) not in (3, 4):
        raise fields.fault("the record is not [key, timestamp, value]")
    if record[1] is not None and (type(record[1]) is not int or record[1] not in _INT64):
        raise fields.fault("the record's timestamp is not a 64-bit integer")
    return fields.as_json(record[0]), record[1], fields.as_json(record[2])


def _object(line: bytes, path: str, offset: int) -> dict[str, Any]:
    try:
        members = read_json(line)
    except ValueError as fault:
        raise fault_at(f"the line is not JSON: {fault}", path, offset) from None
    if not isinstance(members, dict):
        raise fault_at("the line is not an object", path, offset)
    return members
