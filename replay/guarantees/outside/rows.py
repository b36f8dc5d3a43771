"""What the outside holds, as rows, whoever read them; and how their values become JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

_MOST_DEPTH = 100


class Row(NamedTuple):
    """One thing that the outside holds.

    `fields` is where keys are looked for, `value` what is held against other rows of the same record. `where` names it
    to people: a line, a row, an offset. `place`, where it is told, is where it stands for good: what is read twice at
    one place is one row.
    """

    where: str
    fields: Mapping[str, Any]
    value: Any
    place: str | None = None


class Outside(Protocol):
    """A sink, from outside: a table, a file, a topic."""

    @property
    def name(self) -> str:
        """What evidence calls it."""

    def rows(self) -> Iterator[Row]:
        """All that it holds, in any order; raises `ReplayError` where the rest can't be read."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows that are there already."""

    name: str
    found: tuple[Row, ...]

    @classmethod
    def of(cls, name: str, values: list[Mapping[str, Any]]) -> Held:
        """Of objects, numbered from 1."""
        return cls(name, tuple(Row(str(n), one, one) for n, one in enumerate(values, 1)))

    def rows(self) -> Iterator[Row]:
        """In the order given."""
        return iter(self.found)


def plain(value: Any, depth: int = 0) -> Any:
    """A value of a database or a file as JSON holds it: what JSON does not know becomes text. What is nested too deeply
    is a `RecursionError`, as Python's own JSON has it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return text_of_bytes(bytes(value))
    if isinstance(value, Mapping | list | tuple) and depth >= _MOST_DEPTH:
        raise RecursionError(f"nested more than {_MOST_DEPTH} deep")
    if isinstance(value, Mapping):
        return {str(name): plain(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth + 1) for one in value]
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if isoformat else str(value)


def text_of_bytes(data: bytes) -> str:
    """UTF-8 where it is, else hexadecimal digits."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"\\x{data.hex()}"
