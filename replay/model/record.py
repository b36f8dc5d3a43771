"""Records, and the one way their JSON is read and written."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from replay.errors import ReplayError


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Made once: json.dumps and json.loads would make them anew for every record.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def json_bytes(value: Any) -> bytes:
    """The one way JSON is written where bytes must agree: compact, UTF-8, insertion order, no NaN."""
    return _ENCODER.encode(value).encode()


def read_json(data: bytes) -> Any:
    """JSON from a hostile file: any fault (depth, huge number, NaN, encoding) is one ValueError."""
    try:
        value = _DECODER.decode(data.decode("utf-8"))
        if b"\\u" in data:
            # An escape may name half a character, which no UTF-8 holds.
            json_bytes(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


@dataclass(frozen=True, slots=True)
class Record:
    """What flows over a channel. `lineage` names the source records it came from, as ((task, offset), …)."""

    key: Any
    timestamp: int
    value: Any
    lineage: tuple[tuple[str, int], ...] | None = None

    def to_json(self) -> list[Any]:
        """As in `source/` and `sink/` members."""
        fields = [self.key, self.timestamp, self.value]
        return fields if self.lineage is None else [*fields, [list(pair) for pair in self.lineage]]

    def to_body(self) -> bytes:
        """The JSON bytes without the length in front."""
        return json_bytes(self.to_json())

    def to_bytes(self) -> bytes:
        """As in a channel's byte stream: int32 length, then the body."""
        body = self.to_body()
        return len(body).to_bytes(4, "big") + body

    @classmethod
    def from_json(cls, fields: Any) -> Record:
        """From `[key, timestamp, value]` or that with a lineage."""
        if not isinstance(fields, list) or len(fields) not in (3, 4):
            raise ReplayError("a record is [key, timestamp, value] or [key, timestamp, value, lineage]")
        if type(fields[1]) is not int:
            raise ReplayError("a record's timestamp is an integer")
        return cls(fields[0], fields[1], fields[2], _lineage(fields[3]) if len(fields) == 4 else None)

    @classmethod
    def from_body(cls, body: bytes) -> Record:
        """From the JSON bytes without the length in front."""
        try:
            fields = read_json(body)
        except ValueError as fault:
            raise ReplayError(f"a record is not JSON: {fault}") from None
        return cls.from_json(fields)

    @classmethod
    def from_bytes(cls, data: bytes) -> Record:
        """The inverse of `to_bytes`: exactly one record."""
        if len(data) < 4 or int.from_bytes(data[:4], "big", signed=True) != len(data) - 4:
            raise ReplayError("a record's length disagrees with its bytes")
        return cls.from_body(data[4:])


def _lineage(pairs: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(pairs, list):
        raise ReplayError("a record's lineage is a list of [source task, offset]")
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and type(pair[1]) is int):
            raise ReplayError("a record's lineage is a list of [source task, offset]")
    return tuple((task, offset) for task, offset in pairs)
