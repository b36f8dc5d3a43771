"""Both sides on disk, sorted by key: what the sources had and what the outside holds. Memory stays flat."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

_CACHE_KB = 16 << 10
MOST_OF_A_KEY = 1_000
"""More than this of one key are counted, and not looked at one by one."""


class Taken(NamedTuple):
    """A record that a source had, as often as it was taken. `number` counts over its task; `label` and `at` are the
    partition and the offset that it was read from. `settled`: its epoch is over, so that what follows from it has left,
    or never will. `committed`: so it is where checkpoints are offsets."""

    key: bytes | None
    said: str
    task: int
    attempt: int
    epoch: int
    number: int
    label: str | None
    at: int | None
    settled: bool
    committed: bool


class Found(NamedTuple):
    """A row outside. `what` is a digest of its value, `said` the value where it is short enough to be shown; `rank`
    counts rows as they were read."""

    key: bytes
    place: str | None
    part: bytes | None
    what: bytes
    rank: int
    where: str
    said: str


class Joined(NamedTuple):
    """All of one key, on both sides."""

    taken: tuple[Taken, ...]
    found: tuple[Found, ...]
    taken_beyond: bool
    found_beyond: int
    """Rows that were counted only."""

    @property
    def rows(self) -> int:
        """How many rows the key has."""
        return len(self.found) + self.found_beyond


class Known(NamedTuple):
    """A record of which somebody else tells, by where it stands."""

    label: str
    at: int
    key: bytes | None
    said: str


class Span(NamedTuple):
    """What was taken of a partition."""

    label: str
    first: int
    last: int
    offsets: int


class Spool:
    """A nameless database of SQLite's."""

    def __init__(self) -> None:
        self._data = sqlite3.connect("")
        self._data.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-{_CACHE_KB};")
        self._data.executescript(
            "CREATE TABLE taken (key BLOB, said TEXT, task INTEGER, attempt INTEGER, epoch INTEGER, number INTEGER, "
            "label TEXT, at INTEGER, settled INTEGER, committed INTEGER);"
            "CREATE TABLE found (key BLOB, place TEXT, part BLOB, what BLOB, rank INTEGER, whereabouts TEXT, "
            "said TEXT);"
            "CREATE TABLE known (label TEXT, at INTEGER, key BLOB, said TEXT, PRIMARY KEY (label, at)) WITHOUT ROWID;"
        )

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._data.close()

    def take(self, taken: Iterable[Taken]) -> None:
        """Records of the sources, in any order."""
        self._data.executemany("INSERT INTO taken VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", taken)

    def find(self, found: Iterable[Found]) -> None:
        """Rows of the outside, in any order."""
        self._data.executemany("INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?)", found)

    def know(self, known: Iterable[Known]) -> None:
        """Records by their places; of what is told twice, the first counts."""
        self._data.executemany("INSERT OR IGNORE INTO known VALUES (?, ?, ?, ?)", known)

    def fill_keys(self) -> None:
        """Of records that were taken without a key, by what is known of their places."""
        self._data.execute(
            "UPDATE taken SET key = known.key, said = known.said FROM known "
            "WHERE taken.key IS NULL AND known.label = taken.label AND known.at = taken.at"
        )

    def without_key(self) -> int:
        """How many were taken of which no key is known."""
        return int(self._data.execute("SELECT COUNT(*) FROM taken WHERE key IS NULL").fetchone()[0])

    def passed_over(self, span: Span) -> int | None:
        """How many are known to stand between those that were taken; None where what is known does not reach so far."""
        ends = "SELECT MIN(at), MAX(at) FROM known WHERE label = ?"
        first, last = self._data.execute(ends, (span.label,)).fetchone()
        if first is None or first > span.first or last < span.last:
            return None
        query = (
            "SELECT COUNT(*) FROM known WHERE label = ? AND at BETWEEN ? AND ? AND NOT EXISTS "
            "(SELECT 1 FROM taken WHERE taken.label = known.label AND taken.at = known.at)"
        )
        return int(self._data.execute(query, (span.label, span.first, span.last)).fetchone()[0])

    def spans(self) -> Iterator[Span]:
        """By partition."""
        rows = self._data.execute(
            "SELECT label, MIN(at), MAX(at), COUNT(DISTINCT at) FROM taken WHERE label IS NOT NULL GROUP BY label"
        )
        return (Span(*row) for row in rows)

    def numbers(self, tasks: list[str]) -> Iterator[Span]:
        """By task, for sources whose records are counted from the first."""
        rows = self._data.execute("SELECT task, MAX(number), COUNT(DISTINCT number) FROM taken GROUP BY task")
        return (Span(tasks[task], 0, last, count) for task, last, count in rows)

    def joined(self) -> Iterator[Joined]:
        """Key by key: those of either side."""
        taken = self._groups("SELECT * FROM taken WHERE key IS NOT NULL ORDER BY key, task, attempt, epoch, number")
        found = self._groups("SELECT * FROM found ORDER BY key, place, rank")
        one, other = next(taken, None), next(found, None)
        while one is not None or other is not None:
            key = min(group[0] for group in (one, other) if group is not None)
            records, beyond = _first(one[1], Taken) if one is not None and one[0] == key else ((), 0)
            rows, more = _first(_apart(other[1]), Found) if other is not None and other[0] == key else ((), 0)
            yield Joined(records, rows, bool(beyond), more)
            one = next(taken, None) if one is not None and one[0] == key else one
            other = next(found, None) if other is not None and other[0] == key else other

    def _groups(self, query: str) -> Iterator[tuple[bytes, Iterator[Any]]]:
        return groupby(self._data.execute(query), itemgetter(0))


def _first(rows: Iterable[Any], kind: Any) -> tuple[tuple[Any, ...], int]:
    """So many, and how many there are besides."""
    kept: list[Any] = []
    beyond = 0
    for row in rows:
        if len(kept) < MOST_OF_A_KEY:
            kept.append(kind(*row))
        else:
            beyond += 1
    return tuple(kept), beyond


def _apart(rows: Iterable[Any]) -> Iterator[Any]:
    """What was read twice at one place is one row; rows come in the order of their places."""
    before = None
    for row in rows:
        if row[1] is None or row[1] != before:
            yield row
        before = row[1]
