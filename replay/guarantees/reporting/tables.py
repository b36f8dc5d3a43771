"""The numbers of a section as tables: whatever is a list of rows, or rows by name, has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.guarantees.reporting.words import Told, quantity

DRAWN = ("heat", "examples", "beyond_dependence")
"""What has a picture of its own, or is told by claims."""
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text; `more` are not among them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0


def tables(section: Told, most: int) -> Iterator[Table]:
    """With at most so many rows each."""
    for name, value in section["numbers"].items():
        if name in DRAWN or not value:
            continue
        rows = list(_rows(value))
        if rows:
            yield _table(name.replace("_", " "), rows, most)


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        yield from (dict(_flat(one)) for one in value)
    elif isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in value.values()):
        yield from ({"": name, **dict(_flat(one))} for name, one in value.items())
    elif isinstance(value, Mapping) and all(isinstance(one, list) for one in value.values()):
        for name, those in value.items():
            yield from ({"": name, **dict(_flat(one))} for one in those if isinstance(one, Mapping))
    elif isinstance(value, Mapping):
        yield from ({"": name.replace("_", " "), "value": _plain(one)} for name, one in value.items())


def _flat(row: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from _flat(value, f"{before}{name}: ", depth + 1)
        else:
            yield f"{before}{name}", _plain(value)


def _plain(value: Any) -> Any:
    """A pair of bounds that are the same is one number."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        shown = list(dict.fromkeys(_cell("", one) for one in value))
        return " to ".join(shown) if len(value) == 2 else ", ".join(shown)
    return "" if isinstance(value, Mapping) else value


def _table(title: str, rows: list[dict[str, Any]], most: int) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    told = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    shown = tuple(tuple(_cell(name, row.get(name)) for name in told) for row in rows[:most])
    return Table(title, tuple(quantity(name, 0)[0] for name in told), shown, max(0, len(rows) - most))


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return quantity(name, value)[1] if isinstance(value, int | float) else str(value)
