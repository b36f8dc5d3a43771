"""A table of PostgreSQL's, as one moment's snapshot sees it: read through a server's cursor, and never written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from replay.errors import ReplayError, printable
from replay.guarantees.outside.addresses import Address, host_of
from replay.guarantees.outside.rows import Row, plain

_AT_ONCE = 1_000
_REMEDY = "Name postgresql://USER@HOST/DATABASE?table=TABLE, with a password in PGPASSWORD or ~/.pgpass"


@dataclass(frozen=True, slots=True)
class Table:
    """A table, a view, or either in a schema. `address` may hold a password, and is shown to nobody."""

    address: str
    host: str
    table: str

    def __repr__(self) -> str:
        return f"Table({self.host}, {self.table})"

    @property
    def name(self) -> str:
        """The table's."""
        return self.table

    def rows(self) -> Iterator[Row]:
        """As of the moment at which the reading begins."""
        try:
            with _connected(self.address) as server, server.cursor(name="outside") as cursor:
                cursor.itersize = _AT_ONCE
                cursor.execute(sql.SQL("SELECT * FROM {}").format(identifier(self.table)))
                names = [column.name for column in cursor.description or ()]
                for number, found in enumerate(cursor, 1):
                    fields = dict(zip(names, found, strict=True))
                    yield Row(str(number), fields, plain(fields))
        except psycopg.Error as fault:
            raise self._fault("can't be read to its end", fault) from None

    def check(self) -> None:
        """That it is there, and may be read."""
        try:
            with _connected(self.address) as server:
                server.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(identifier(self.table)))
        except psycopg.Error as fault:
            raise self._fault("can't be read", fault) from None

    def _fault(self, what: str, fault: psycopg.Error) -> ReplayError:
        """A driver's words may quote the address; what the server says does not."""
        why = fault.diag.message_primary or type(fault).__name__
        return ReplayError(
            f"table {printable(self.table)} {what}: {printable(why)}", path=f"postgresql://{self.host}", remedy=_REMEDY
        )


def identifier(name: str) -> sql.Identifier:
    """`orders`, or `shop.orders` of a schema, quoted whatever it holds."""
    return sql.Identifier(*name.split(".", 1))


def _connected(address: str) -> psycopg.Connection[tuple[object, ...]]:
    server = psycopg.connect(address, connect_timeout=10, application_name="clonoscope audit")
    server.read_only = True
    server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return server


def open_postgres(address: Address) -> Table:
    """Connects once, to say at once what is wrong."""
    table = Table(_without_table(address.whole), host_of(address), address.table)
    table.check()
    return table


def _without_table(address: str) -> str:
    parts = urlsplit(address)
    options = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "table"]
    return urlunsplit(parts._replace(query=urlencode(options)))
