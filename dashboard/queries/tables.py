"""A page of any lake table: filtered by columns, in the order of the table's key, from a cursor that stays true.

The cursor is the key of the last row and how many rows of that key were given: a recording may repeat a key, and a
repeat is evidence that must not get lost between two pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dashboard.cursors import from_cursor, to_cursor
from dashboard.problems import Problem
from dashboard.queries.log_walk import LOG, Begin, Conditions, walk
from ingest.lake.engine import Row
from ingest.lake.readers import PublishedJob
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.sealing import HIDDEN

KEYS: dict[str, tuple[str, ...]] = {
    "determinants": ("task", "attempt", "thread", "epoch", "seq"),
    "epochs": ("task", "attempt", "thread", "epoch"),
    "buffers": ("channel", "attempt", "seq"),
    "sendings": ("channel", "attempt", "seq", "sending"),
    "deltas": ("channel", "attempt", "seq", "sending", "task", "thread", "epoch", "offset"),
    "events": ("n",),
    "checkpoints": ("checkpoint", "task", "attempt"),
    "failures": ("failure", "task"),
    "metrics": ("n",),
    "sources": ("task", "attempt", "epoch", "offset"),
    "sinks": ("task", "attempt", "epoch", "n"),
    "sites": ("task", "attempt", "site"),
    "holders": ("epoch", "task", "thread", "holder", "holder_attempt", "attempt", "t_us", "upto"),
    "frontiers": ("epoch", "of_task", "thread", "task", "attempt", "t_us", "upto"),
    "rejects": ("path", "offset"),
    "counts": ("task", "attempt", "thread", "epoch", "kind"),
    "flows": ("channel", "attempt", "epoch"),
    "seconds": ("channel", "second"),
}
# In these a row may lack part of its key: a fault of a whole member has no offset, a checkpoint's total no task.
INCOMPLETE_KEYS = frozenset({"checkpoints", "failures", "rejects", "events", "metrics", "sinks", "sources", "sites"})
MOST_ROWS = 1000
MOST_ROWS_OF_A_FILE = 100_000
"""In a format that is not read by eye."""
MOST_PAGE_BYTES = 8 << 20
RANGE_SUFFIXES = {".from": ">=", ".to": "<"}


@dataclass(frozen=True, slots=True)
class Page:
    """Rows as they are stored; `sealed`: signs stand in place of what is hidden."""

    table: str
    columns: list[str]
    values: list[Row]
    cursor: str | None
    sealed: bool

    @property
    def rows(self) -> list[list[Any]]:
        """As JSON has them."""
        return [[_plain(value) for value in row] for row in self.values]

    def arrow(self) -> pa.Table:
        """With the columns' own types; what is hidden is text."""
        hidden = HIDDEN.get(self.table, ()) if self.sealed else ()
        fields = [pa.field(one.name, pa.string()) if one.name in hidden else one for one in _schema(self.table)]
        columns = list(zip(*self.values, strict=True)) or [() for _ in fields]
        arrays = [pa.array(values, one.type) for values, one in zip(columns, fields, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def table_page(job: PublishedJob, table: str, filters: Mapping[str, str], cursor: str, limit: int) -> Page:
    """Filters are `column=value`, and `column.from=` (inclusive) or `column.to=` (exclusive) for numbers."""
    asked = _Asked(table)
    asked.filter(filters)
    skip = asked.start(cursor) if cursor else 0
    columns, rows = list(asked.types), asked.rows(job, limit + 1, skip)
    shown = _within_bytes(rows[:limit])
    following = None if len(shown) == len(rows) else _following(table, columns, shown, cursor, skip)
    return Page(table, columns, shown, following, job.sealed)


def _schema(table: str) -> pa.Schema:
    return LAKE_TABLES[table].schema


class _Asked:
    """The query being put together; values go in as parameters, names come from the schema alone."""

    def __init__(self, table: str) -> None:
        if table not in KEYS:
            raise Problem(404, f"There is no table {table!r}. There are: {', '.join(KEYS)}.", code="unknown-table")
        self.table = table
        self.types = {field.name: field.type for field in LAKE_TABLES[table].schema}
        self.params: dict[str, Any] = {}
        self._where: list[str] = []
        self._of_logs: list[str] = []
        self._begin: Begin | None = None
        self._from_seq: int | None = 0

    def filter(self, filters: Mapping[str, str]) -> None:
        for name, text in filters.items():
            column, compared = _column_of(name)
            if column not in self.types:
                raise Problem(422, f"{name}: the table {self.table} has no such column.", detail=list(self.types))
            value = _value(name, self.types[column], text)
            condition = f'"{column}" {compared} {self._bound(value)}'
            if name == "seq.from" and self._from_seq is not None:
                self._from_seq = value
            elif column not in LOG:
                self._from_seq = None
            self._where.append(condition)
            if column in LOG or (column == "kind" and compared == "="):
                self._of_logs.append(condition)

    def start(self, cursor: str) -> int:
        """Begins at the cursor's key; gives how many rows of it were given before."""
        key = KEYS[self.table]
        *values, skip = from_cursor(cursor, [*(_python_type(self.types[name]) for name in key), int])
        if any(value is None for value in (*values, skip)) or skip < 0:
            raise Problem(422, "cursor: this is no cursor of this page. Begin without one.", code="bad-cursor")
        if self.table == "determinants":
            self._begin = Begin(tuple(values[: len(LOG)]), values[-1], skip)
            return int(skip)
        bound = [self._bound(value) for value in values]
        names = [self._key_column(name) for name in key]
        # The first comparison says nothing new; it lets whole row groups be passed over.
        self._where += [f"{names[0]} >= {bound[0]}", f"ROW({', '.join(names)}) >= ROW({', '.join(bound)})"]
        return int(skip)

    def rows(self, job: PublishedJob, limit: int, skip: int) -> list[Row]:
        """Of determinants there may be hundreds of millions, in files that the roll-ups lead to."""
        if self.table != "determinants":
            return job.rows(self._sql(limit, skip), self.params)
        columns = ", ".join(f'"{name}"' for name in self.types)
        conditions = Conditions(self._where, self._of_logs, self.params, self._from_seq)
        return walk(job, columns, conditions, self._begin, limit)

    def _sql(self, limit: int, skip: int) -> str:
        key = [self._key_column(name) for name in KEYS[self.table]]
        where = f"WHERE {' AND '.join(self._where)} " if self._where else ""
        columns = ", ".join(f'"{name}"' for name in self.types)
        # Rows of one key need an order too, or a second query could give them in another one.
        order = ", ".join(key) + (f", {columns}" if self.table in INCOMPLETE_KEYS else "")
        return f'SELECT {columns} FROM "{self.table}" {where}ORDER BY {order} LIMIT {limit} OFFSET {skip}'

    def _key_column(self, name: str) -> str:
        if self.table not in INCOMPLETE_KEYS:
            return f'"{name}"'
        return f'COALESCE("{name}", {_lacking(self.types[name])!r})'

    def _bound(self, value: Any) -> str:
        name = f"v{len(self.params)}"
        self.params[name] = value
        return f"${name}"


def _following(table: str, columns: list[str], shown: list[Row], cursor: str, skip: int) -> str:
    types = {field.name: field.type for field in LAKE_TABLES[table].schema}
    at = [columns.index(name) for name in KEYS[table]]
    keys = [[_lacking(types[columns[i]]) if row[i] is None else row[i] for i in at] for row in shown]
    same = 0
    for key in reversed(keys):
        if key != keys[-1]:
            break
        same += 1
    if cursor and same == len(keys) and [*keys[-1], skip] == from_cursor(cursor, _cursor_types(table)):
        same += skip
    return to_cursor([*keys[-1], same])


def _cursor_types(table: str) -> list[type]:
    types = {field.name: field.type for field in LAKE_TABLES[table].schema}
    return [*(_python_type(types[name]) for name in KEYS[table]), int]


def _column_of(name: str) -> tuple[str, str]:
    for suffix, compared in RANGE_SUFFIXES.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), compared
    return name, "="


def _value(name: str, kind: pa.DataType, text: str) -> Any:
    if pa.types.is_string(kind):
        return text
    if pa.types.is_boolean(kind) and text in ("true", "false"):
        return text == "true"
    if pa.types.is_integer(kind):
        try:
            number = int(text)
        except ValueError:
            number = 1 << 63
        if -(1 << 63) <= number < 1 << 63:
            return number
    raise Problem(422, f"{name}: {text[:100]!r} is no value of this column.")


def _python_type(kind: pa.DataType) -> type:
    return int if pa.types.is_integer(kind) else str


def _lacking(kind: pa.DataType) -> int | str:
    return -1 if pa.types.is_integer(kind) else ""


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _within_bytes(rows: list[Row]) -> list[Row]:
    """Fewer rows where they are large; never none, so that every page leads on."""
    left = MOST_PAGE_BYTES
    for count, row in enumerate(rows):
        left -= sum(len(value) for value in row if isinstance(value, str | bytes)) + 8 * len(row)
        if left < 0 and count:
            return rows[:count]
    return rows
