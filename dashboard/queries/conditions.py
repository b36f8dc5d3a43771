"""Conditions on steps, as JSON: what `find` and breakpoints take. Compiled to SQL with every value bound.

`{"kind": "deliver-record", "epoch": {"ge": 3}}` means all of them; `{"any": [...]}`, `{"all": [...]}` and
`{"not": {...}}` combine. Comparisons: eq, ne, lt, le, gt, ge, in, contains.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from dashboard.problems import Problem
from ingest.lake.step_schema import STEPS

MOST_DEPTH = 8
MOST_PARTS = 100
MOST_TEXT = 8_192
COMPARED = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
TYPES = {field.name: (int if pa.types.is_integer(field.type) else str) for field in STEPS.schema}


def compiled(text: str, params: dict[str, Any]) -> str:
    """The SQL of a condition; its values are added to `params`."""
    if len(text) > MOST_TEXT:
        raise _bad(f"it is longer than {MOST_TEXT} characters")
    try:
        condition = json.loads(text)
    except (ValueError, RecursionError):
        raise _bad("it is not JSON") from None
    return _Compiler(params).condition(condition, 0)


class _Compiler:
    def __init__(self, params: dict[str, Any]) -> None:
        self._params = params
        self._parts = 0

    def condition(self, condition: Any, depth: int) -> str:
        if not isinstance(condition, dict) or depth > MOST_DEPTH:
            raise _bad("a condition is an object, and they nest no deeper than eight times")
        parts = [self._part(name, value, depth) for name, value in condition.items()]
        return f"({' AND '.join(parts)})" if parts else "TRUE"

    def _part(self, name: str, value: Any, depth: int) -> str:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise _bad(f"it has more than {MOST_PARTS} parts")
        if name in ("all", "any"):
            if not isinstance(value, list) or not value:
                raise _bad(f"{name} takes a list of conditions")
            joined = " AND " if name == "all" else " OR "
            return f"({joined.join(self.condition(item, depth + 1) for item in value)})"
        if name == "not":
            # A step that lacks the column does not meet the inner condition, so it meets this one.
            return f"NOT COALESCE({self.condition(value, depth + 1)}, FALSE)"
        if name not in TYPES:
            raise _bad(f"steps have no column {name[:100]!r}; they have {', '.join(TYPES)}")
        if isinstance(value, dict):
            return f"({' AND '.join(self._compared(name, how, to) for how, to in value.items()) or 'TRUE'})"
        return f'"{name}" IS NULL' if value is None else self._compared(name, "eq", value)

    def _compared(self, column: str, how: str, value: Any) -> str:
        if how == "in" and isinstance(value, list) and 0 < len(value) <= MOST_PARTS:
            return f'"{column}" IN ({", ".join(self._bound(column, item) for item in value)})'
        if how == "contains" and TYPES[column] is str:
            return f'contains("{column}", {self._bound(column, value)})'
        if how in COMPARED:
            return f'"{column}" {COMPARED[how]} {self._bound(column, value)}'
        raise _bad(f"{column} cannot be compared by {how[:100]!r}")

    def _bound(self, column: str, value: Any) -> str:
        fits = type(value) is TYPES[column]
        if not fits or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            raise _bad(f"{column} takes {'whole numbers' if TYPES[column] is int else 'text'}")
        name = f"w{len(self._params)}"
        self._params[name] = value
        return f"${name}"


def _bad(why: str) -> Problem:
    return Problem(422, f"where: {why}.", code="bad-condition")
