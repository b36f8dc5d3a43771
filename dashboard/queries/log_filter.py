"""Which determinants of a log a page shows: of one kind, of one channel, with values or sizes between two bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SIZES = ("size_from", "size_to")
VALUES = ("value_from", "value_to")
# Each with the condition that it is; a row without a value or a channel has none to compare.
_CONDITIONS = {
    "kind": "kind = $kind",
    "channel": "channel = $channel",
    "value_from": "value >= $value_from",
    "value_to": "value <= $value_to",
    "size_from": "length >= $size_from",
    "size_to": "length <= $size_to",
}


@dataclass(frozen=True, slots=True)
class LogFilter:
    """`value_*` are numbers that clocks and random draws gave; `size_*` are bytes of a determinant, encoded."""

    kind: str = ""
    channel: int | None = None
    value_from: int | None = None
    value_to: int | None = None
    size_from: int | None = None
    size_to: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """What is asked for, by the names that it has in addresses."""
        return {name: value for name in _CONDITIONS if (value := getattr(self, name)) not in (None, "")}

    def __bool__(self) -> bool:
        return bool(self.given)

    @property
    def sql(self) -> str:
        return "".join(f" AND {_CONDITIONS[name]}" for name in self.given)
