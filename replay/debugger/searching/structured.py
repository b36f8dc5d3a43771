"""The same searches as JSON, for programs: `{"kind": "deliver-record", "epoch": {"ge": 3}}` means all of them.

`{"any": [...]}`, `{"all": [...]}` and `{"not": {...}}` combine; `{"search": "…"}` holds a text of the language.
"""

from __future__ import annotations

import json
from typing import Any, cast

from replay.debugger.searching.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    How,
    Missing,
    Not,
    OneOf,
    Search,
    Value,
    WrongSearch,
)
from replay.debugger.searching.fields import ALIASES, STEP_FIELDS, TAKEN_FIELDS, Field
from replay.debugger.searching.language import LARGEST, MOST_PARTS, parsed
from replay.debugger.searching.tokens import encodable
from replay.errors import printable

MOST_DEPTH = 8
MOST_TEXT = 8_192
COMPARED: dict[str, How] = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# Programs name columns, as the rows that they are given do; what steps take from the log has its names of the language.
COLUMNS = {one.column: ALIASES.get(one.column, one) for one in STEP_FIELDS} | {one.name: one for one in TAKEN_FIELDS}


def read(text: str) -> Search:
    """A search as text of the language or, where it begins with a brace, as JSON. Raises `WrongSearch`."""
    if not text.lstrip().startswith(("{", "[")):
        return parsed(text)
    if len(text) > MOST_TEXT:
        raise WrongSearch(f"it is longer than {MOST_TEXT:,} characters")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise WrongSearch("it is not JSON") from None
    if isinstance(document, dict) and set(document) == {"search"}:
        return parsed(_text(document["search"]))
    return Search(_Reader().condition(document, 0))


class _Reader:
    def __init__(self) -> None:
        self._parts = 0

    def condition(self, condition: Any, depth: int) -> Condition:
        if not isinstance(condition, dict) or depth > MOST_DEPTH:
            raise WrongSearch("a condition is an object, and they nest no deeper than eight times")
        parts = [self._part(name, value, depth) for name, value in condition.items()]
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _part(self, name: str, value: Any, depth: int) -> Condition:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise WrongSearch(f"it has more than {MOST_PARTS} parts")
        if name in ("all", "any"):
            if not isinstance(value, list) or not value:
                raise WrongSearch(f"{name} takes a list of conditions")
            parts = tuple(self.condition(item, depth + 1) for item in value)
            return All(parts) if name == "all" else AnyOf(parts)
        if name == "not":
            return Not(self.condition(value, depth + 1))
        if name == "search":
            return self._searched(_text(value))
        field = COLUMNS.get(name)
        if field is None:
            raise WrongSearch(f"steps have no column {printable(name, 100)!r}; they have {', '.join(COLUMNS)}")
        if isinstance(value, dict):
            parts = tuple(self._compared(field, how, to) for how, to in value.items())
            return parts[0] if len(parts) == 1 else All(parts)
        return Missing(field) if value is None else self._compared(field, "eq", value)

    def _searched(self, text: str) -> Condition:
        search = parsed(text)
        if search.hits != Search(All(())).hits:
            raise WrongSearch("hits are counted of a whole search", remedy="Give it as the one member of the object")
        return search.condition

    def _compared(self, field: Field, how: str, value: Any) -> Condition:
        if how == "in" and isinstance(value, list) and 0 < len(value) <= MOST_PARTS:
            return OneOf(field, tuple(_fitting(field, item) for item in value))
        if how == "contains" and field.holds == "text":
            return Comparison(field, "contains", _fitting(field, value))
        if how in COMPARED:
            return Comparison(field, COMPARED[how], _fitting(field, value))
        raise WrongSearch(f"{field.column} cannot be compared by {printable(how, 100)!r}")


def _fitting(field: Field, value: Any) -> Value:
    fits = type(value) is (int if field.holds == "number" else str)
    if not fits or (isinstance(value, int) and abs(value) > LARGEST):
        raise WrongSearch(f"{field.column} takes {'whole numbers' if field.holds == 'number' else 'text'}")
    return cast(Value, value if isinstance(value, int) else _text(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not encodable(value):
        raise WrongSearch("text is written in whole characters")
    return value
