"""How rows outside go together with records of the sources: by which key, and how many rows a record has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replay.errors import WrongSetting, printable
from replay.model import read_json

MOST_PER_RECORD = 1_000
_LONGEST_TEXT = 1 << 20
_COUNT = re.compile(r"(0|[1-9][0-9]{0,3})(?:-(0|[1-9][0-9]{0,3})?)?", re.ASCII)
_NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Key:
    """Where a key stands: fields, or paths into them; of several, all together are the key."""

    paths: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Key:
        """`order`, `value.order`, `partition,offset`."""
        paths = tuple(one.strip() for one in text.split(","))
        if not all(paths):
            remedy = "Name a column, a path as value.order, or several with commas"
            raise WrongSetting(f"“{printable(text)}” names no key", remedy=remedy)
        return cls(paths)

    def of(self, fields: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The values; None where one of them is not there, or null."""
        found = tuple(value_at(fields, path) for path in self.paths)
        return None if any(one is None for one in found) else found

    def __str__(self) -> str:
        return ",".join(self.paths)


def value_at(fields: Mapping[str, Any], path: str) -> Any:
    """What stands there: a field of that name, else by the path's parts, from the fields or from their `value`."""
    found = _walked(fields, path)
    if found is _NOTHING and "value" in fields:
        found = _walked(opened(fields["value"]), path)
    return None if found is _NOTHING else found


def _walked(holder: Any, path: str) -> Any:
    if isinstance(holder, Mapping) and path in holder:
        return holder[path]
    for step in path.split("."):
        holder = opened(holder)
        if isinstance(holder, Mapping) and step in holder:
            holder = holder[step]
        elif isinstance(holder, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(holder):
            holder = holder[int(step[:9])]
        else:
            return _NOTHING
    return holder


def opened(value: Any) -> Any:
    """JSON in a text, as in a message or a column; all else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "[") and len(value) <= _LONGEST_TEXT:
        try:
            return read_json(value.encode())
        except ValueError:
            return value
    return value


@dataclass(frozen=True, slots=True)
class PerRecord:
    """How many rows a source record has outside; `most` None is any number."""

    least: int = 1
    most: int | None = 1

    @classmethod
    def parse(cls, text: str) -> PerRecord:
        """`1`, `3`, `0-1` where the job may leave records out, `1-` and `any`."""
        if text == "any":
            return cls(0, None)
        found = _COUNT.fullmatch(text)
        if found:
            least = int(found[1])
            most = least if "-" not in text else int(found[2]) if found[2] else None
            if (most is None or most >= max(least, 1)) and max(least, most or 0) <= MOST_PER_RECORD:
                return cls(least, most)
        raise WrongSetting(
            f"“{printable(text)}” is no number of rows that a record may have",
            remedy=f"Give a number up to {MOST_PER_RECORD:,}, a range as 0-1 or 1-, or any",
        )

    @property
    def fixed(self) -> bool:
        """Whether every record has the same number."""
        return self.least == self.most

    def __str__(self) -> str:
        if self.fixed:
            return str(self.least)
        if (self.least, self.most) == (0, None):
            return "any"
        return f"{self.least}-{'' if self.most is None else self.most}"


@dataclass(frozen=True, slots=True)
class How:
    """The job's mapping. `part` tells the rows of one record apart; `source` names the vertices whose records count."""

    key: Key = Key(("key",))
    source_key: Key = Key(("key",))
    per_record: PerRecord = PerRecord()
    part: Key | None = None
    source: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls,
        key: str | None = None,
        source_key: str | None = None,
        per_record: str | None = None,
        part: str | None = None,
        source: tuple[str, ...] = (),
    ) -> How:
        """From the options of a command; raises `WrongSetting`."""
        return cls(
            Key.parse(key or "key"),
            Key.parse(source_key or "key"),
            PerRecord.parse(per_record or "1"),
            Key.parse(part) if part else None,
            source,
        )
