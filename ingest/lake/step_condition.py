"""Conditions on steps as SQL: every value is bound, and what relates steps with one another becomes a table first.

NULL counts as false where a condition is asked. Only what stands under a `not` has to say so itself: the others keep
their bare comparisons, by which row groups are passed over.
"""

from __future__ import annotations

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
)
from replay.debugger.searching.fields import SCOPES, Field

_SIGNS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TABLES = {"taken": "taken", "changes": "state_changes"}
# The steps that a query looks at, bound anew by each; what stands in another table is looked up there within them.
RANGE = "step >= $range_from AND step < $range_end"

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
            case Changes(part):
                return f"step IN (SELECT step FROM state_changes WHERE {RANGE} AND {self.sql(part)})"
            case Differs():
                return f"step IN (SELECT step FROM buffers WHERE {RANGE} AND NOT matches)"
            case Enters(state):
                return self._in_kept(_ENTERED.replace("{state}", self._bound(state)))
            case OpenOrder():
                self.needs_open_orders = True
                return f"step IN (SELECT step FROM open_orders WHERE {RANGE})"
            case Related():
                return self._in_kept(self._related(condition))

    def _of_field(self, condition: Comparison | OneOf | Missing) -> str:
        of = condition.field
        compared = self._compared(condition)
        if of.table != "taken":
            return compared
        self.needs_taken = True
        # At most one determinant is taken at a step: what lacks it has no row, or a row without the value.
        if isinstance(condition, Missing):
            return f"step NOT IN (SELECT step FROM taken WHERE {RANGE} AND {_column(of)} IS NOT NULL)"
        return f"step IN (SELECT step FROM taken WHERE {RANGE} AND {compared})"

    def _compared(self, condition: Comparison | OneOf | Missing) -> str:
        column = _column(condition.field)
        match condition:
            case Missing():
                return f"{column} IS NULL"
            case OneOf(of, values):
                return f"({' OR '.join(self._single(of, '=', value) for value in values)})"
            case Comparison(of, how, value):
                return self._single(of, how, value)

    def _single(self, of: Field, how: str, value: Value) -> str:
        column = _column(of)
        if how == "contains":
            return f"contains({column}, {self._bound(value)})"
        if how == "starts with":
            return f"starts_with({column}, {self._bound(value)})"
        if of.holds == "json" and isinstance(value, float):
            column = f"TRY_CAST({column} AS DOUBLE)"
        return f"{column} {_SIGNS[how]} {self._bound(value)}"

    def _bound(self, value: Value) -> str:
        name = f"v{len(self.params)}"
        self.params[name] = value
        return f"${name}"

    # --- relations ---

    def _in_kept(self, sql: str) -> str:
        """The rows of a table of steps, over all of the replay, made once for all the queries of a search."""
        name = f"kept_{len(self.kept)}"
        self.kept.append(Kept(name, sql))
        return f"step IN (SELECT step FROM {name})"

    def _related(self, related: Related) -> str:
        columns = tuple(dict.fromkeys(column for scope in related.scopes for column in SCOPES[scope]))
        one, other = self.sql(related.one), self.sql(related.other)
        listed = ", ".join(("step", *columns))
        ones = f"(SELECT {listed} FROM steps WHERE {one}) AS one"
        shared = " AND ".join((other, *(f"{column} IS NOT NULL" for column in columns)))
        same = " AND ".join(f"one.{column} = other.{column}" for column in columns)
        if not related.within:
            return self._anywhere(related, ones, columns, shared, same)
        found = self._near(related, ones, listed, shared, same)
        if not related.negated:
            return found
        return f"SELECT step FROM {ones} WHERE step NOT IN ({found})"

    @staticmethod
    def _anywhere(related: Related, ones: str, columns: tuple[str, ...], other: str, same: str) -> str:
        """Somewhere before means: behind the first of the others that have as much in common."""
        edge, sign = ("min", "<") if related.before else ("max", ">")
        listed = ", ".join((*columns, f"{edge}(step) AS edge"))
        grouped = f"GROUP BY {', '.join(columns)}" if columns else ""
        others = f"(SELECT {listed} FROM steps WHERE {other} {grouped}) AS other"
        on = " AND ".join(filter(None, (same, f"other.edge {sign} one.step")))
        return f"SELECT one.step FROM {ones} {'ANTI' if related.negated else 'SEMI'} JOIN {others} ON {on}"

    def _near(self, related: Related, ones: str, listed: str, other: str, same: str) -> str:
        """The nearest of the others is near enough, or none is."""
        sign, distance = (">", "one.step - other.step") if related.before else ("<", "other.step - one.step")
        others = f"(SELECT {listed} FROM steps WHERE {other}) AS other"
        on = " AND ".join(filter(None, (same, f"one.step {sign} other.step")))
        most = self._bound(related.within or 0)
        return f"SELECT one.step FROM {ones} ASOF JOIN {others} ON {on} WHERE {distance} <= {most}"


def _column(of: Field) -> str:
    return f'"{of.column}"'
