"""A table of SQLite's, read and never written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from replay.errors import ReplayError
from replay.guarantees.outside.addresses import Address
from replay.guarantees.outside.rows import Row, plain

_AT_ONCE = 1_000
_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view of a file."""

    path: Path
    table: str

    @property
    def name(self) -> str:
        """The table's."""
        return self.table

    def rows(self) -> Iterator[Row]:
        """In the order in which the database gives them."""
        try:
            with closing(_connected(self.path)) as data:
                yield from self._of(data)
        except sqlite3.Error as fault:
            raise ReplayError(f"table {self.table} can't be read: {fault}", path=str(self.path)) from fault

    def _of(self, data: sqlite3.Connection) -> Iterator[Row]:
        asked = data.execute(f"SELECT * FROM {quoted(self.table)}")
        names = [column[0] for column in asked.description]
        number = 0
        while found := asked.fetchmany(_AT_ONCE):
            for row in found:
                number += 1
                fields = dict(zip(names, row, strict=True))
                yield Row(str(number), fields, plain(fields))


def quoted(name: str) -> str:
    """An identifier, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _connected(path: Path) -> sqlite3.Connection:
    data = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    data.text_factory = lambda text: text.decode("utf-8", "replace")
    data.execute("PRAGMA query_only = ON")
    data.execute("PRAGMA trusted_schema = OFF")
    return data


def open_sqlite(address: Address) -> Table:
    """Looks whether there is such a table."""
    path, table = address.file, address.table
    try:
        with open(path, "rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise ReplayError("this is no database of SQLite's", path=str(path), remedy="Name one")
        with closing(_connected(path)) as data:
            found = data.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            names = [name for (name,) in found.fetchmany(_AT_ONCE)]
    except (OSError, sqlite3.Error) as fault:
        raise ReplayError(f"it can't be opened: {fault}", path=str(path)) from fault
    if table not in names:
        there = ", ".join(names[:10]) or "none"
        raise ReplayError(f"there is no table {table}", path=str(path), remedy=f"Name one that is there: {there}")
    return Table(path, table)
