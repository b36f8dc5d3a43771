"""Conditions on steps as SQL: every value is bound, and what relates steps with one another becomes a table first.

NULL counts as false where a condition is asked. Only what stands under a `not` has to say so itself: the others keep
their bare comparisons, by which row groups are passed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.searching.conditions import (
    All,
    AnyOf,
    Changes,
    Comparison,
    Condition,
    Differs,
    Enters,
    Missing,
    Not,
    OneOf,
    OpenOrder,
    Related,
    Value,
    walked,
)
from replay.debugger.searching.fields import SCOPES, Field

_SIGNS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# The steps that a query looks at, bound anew by each; what stands in another table is looked up there within them.
RANGE = "step >= $range_from AND step < $range_end"
MANY = frozenset(("record_count", "buffer"))
"""Columns that may hold another value at every few steps."""

# A task comes into a state by a step of its recovery's walk, of which there are few, or by its very first one.
_ENTERED = """
SELECT min(step) AS step FROM steps WHERE state = {state} GROUP BY task
UNION SELECT step FROM (
    SELECT step, state, lag(state) OVER (PARTITION BY task ORDER BY step) AS was
    FROM steps WHERE kind IN ('transition', 'restore', 'request', 'answer', 'merge')
) WHERE state = {state} AND was <> {state}
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A table that has to be made before the query: its name and what it is made of."""

    name: str
    sql: str


@dataclass(slots=True)
class Compiler:
    """Puts one or several conditions into SQL; `kept` are the tables to make, in order, `params` the bound values."""

    params: dict[str, Any] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    needs_taken: bool = False
    needs_open_orders: bool = False

    def sql(self, condition: Condition) -> str:
        match condition:
            case All(parts):
                return f"({' AND '.join(self.sql(part) for part in parts)})" if parts else "TRUE"
            case AnyOf(parts):
                return f"({' OR '.join(self.sql(part) for part in parts)})"
            case Not(part):
                return f"NOT COALESCE({self.sql(part)}, FALSE)"
            case Comparison() | OneOf() | Missing():
                return self._of_field(condition)
            case Changes() | Differs() | Enters() | OpenOrder() | Related():
                return f"step IN ({self.query(condition)})"

    def query(self, condition: Condition) -> str | None:
        """The query that lists the steps, in any order, where what says it stands in another table; else None."""
        match condition:
            case Changes(part):
                return f"SELECT DISTINCT step FROM state_changes WHERE {RANGE} AND {self.sql(part)}"
            case Differs():
                return f"SELECT DISTINCT step FROM buffers WHERE {RANGE} AND NOT matches"
            case Enters(state):
                return f"SELECT step FROM {self._kept(_ENTERED.replace('{state}', self._bound(state)))} WHERE {RANGE}"
            case OpenOrder():
                self.needs_open_orders = True
                return f"SELECT DISTINCT step FROM open_orders WHERE {RANGE}"
            case Related():
                return self._related(condition)
            case Comparison(of) | OneOf(of) if of.table == "taken":
                self.needs_taken = True
                # At most one determinant is taken at a step.
                return f"SELECT step FROM taken WHERE {RANGE} AND {self._compared(condition)}"
            case _:
                return None

    def _of_field(self, condition: Comparison | OneOf | Missing) -> str:
        of = condition.field
        if of.table != "taken":
            return self._compared(condition)
        if not isinstance(condition, Missing):
            return f"step IN ({self.query(condition)})"
        self.needs_taken = True
        # What lacks it has no row, or a row without the value.
        return f"step NOT IN (SELECT step FROM taken WHERE {RANGE} AND {self._column(of)} IS NOT NULL)"

    def _compared(self, condition: Comparison | OneOf | Missing) -> str:
        column = self._column(condition.field)
        match condition:
            case Missing():
                return f"{column} IS NULL"
            case OneOf(of, values):
                return f"({' OR '.join(self._single(of, '=', value) for value in values)})"
            case Comparison(of, how, value):
                return self._single(of, how, value)

    def _single(self, of: Field, how: str, value: Value) -> str:
        column = self._column(of)
        if how == "contains":
            return f"contains({column}, {self._bound(value)})"
        if how == "starts with":
            return f"starts_with({column}, {self._bound(value)})"
        if of.holds == "json" and isinstance(value, float):
            column = f"NULLIF(TRY_CAST({column} AS DOUBLE), 'NaN'::DOUBLE)"  # which is greater than any number there
        return f"{column} {_SIGNS[how]} {self._bound(value)}"

    def _column(self, of: Field) -> str:
        column = f'"{of.column}"'
        if not of.path:
            return column
        path = "$" + "".join(f"[{one}]" if one.isdecimal() else f".{json.dumps(one)}" for one in of.path)
        return f"CASE WHEN json_valid({column}) THEN CAST(json_extract({column}, {self._bound(path)}) AS VARCHAR) END"

    def _bound(self, value: Value) -> str:
        name = f"v{len(self.params)}"
        self.params[name] = value
        return f"${name}"

    # --- relations ---

    def _kept(self, sql: str) -> str:
        """The name of a table over all of the replay, made once for all the queries of a search."""
        name = f"kept_{len(self.kept)}"
        self.kept.append(Kept(name, sql))
        return name

    def _related(self, related: Related) -> str:
        """Somewhere before means: behind the first of the others that have as much in common."""
        columns = columns_of(related)
        edge, sign = ("min", "<") if related.before else ("max", ">")
        one, other = self.sql(related.one), self.sql(related.other)
        has_all = "".join(f" AND {column} IS NOT NULL" for column in columns)
        grouped = f" GROUP BY {', '.join(columns)}" if columns else ""
        listed = ", ".join((*columns, f"{edge}(step) AS edge"))
        others = self._kept(f"SELECT {listed} FROM steps WHERE {other}{has_all}{grouped}")
        same = (*(f"one.{column} = other.{column}" for column in columns), f"other.edge {sign} one.step")
        ones = f"(SELECT {', '.join(('step', *columns))} FROM steps WHERE {RANGE} AND {one}) AS one"
        how = "ANTI" if related.negated else "SEMI"
        return f"SELECT one.step FROM {ones} {how} JOIN {others} AS other ON {' AND '.join(same)}"


def columns_of(related: Related) -> tuple[str, ...]:
    """What says that two steps have in common what they must."""
    return tuple(dict.fromkeys(column for scope in related.scopes for column in SCOPES[scope]))


def is_sql(condition: Condition) -> bool:
    """Whether one query answers it for any stretch of steps: of what its relations have in common there is little."""
    relations = [one for one in walked(condition) if isinstance(one, Related)]
    return all(one.within is None and MANY.isdisjoint(columns_of(one)) for one in relations)
