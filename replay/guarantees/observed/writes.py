"""What attempts that executed the same epochs gave to the outside, held against each other record by record.

Lines are spooled to a nameless database of SQLite's and sorted there, so that memory stays flat.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from replay.debugger.redactions import TOKEN
from replay.model import json_bytes

MOST_OUTPUTS_OF_A_RECORD = 1_000
"""More outputs than this of one source record are not held against each other."""
_CACHE_KB = 16 << 10


class Write(NamedTuple):
    """A line of `sink/`, without what it says: whose output it is, what it is known by, and where it stands.

    `what` and `key` are digests, `key` empty where the record has none; `number` counts the lines of the attempt.
    """

    epoch: int
    source: bytes
    attempt: int
    number: int
    id: bytes
    key: bytes
    what: bytes
    hidden: bool
    offset: int


class Twice(NamedTuple):
    """One output of a source record that several attempts gave; `differs` is None where redaction hides it."""

    given: tuple[Write, ...]
    differs: bool | None


class Last(NamedTuple):
    """The attempt that executed an epoch last, and whether it came to the epoch's end."""

    attempt: int
    whole: bool


@dataclass(slots=True)
class Held:
    """One epoch, after all that its attempts gave has been held against each other."""

    epoch: int
    outputs: Counter[int] = field(default_factory=Counter)
    """By attempt: outputs, those of one record with one id counted once."""
    once_by_id: int = 0
    unlike: int = 0
    """Outputs of one id that aren't the same: which of them the outside keeps is not known."""
    alone: int = 0
    """Records with an output that the last attempt did not give."""
    others: int = 0
    """Places in the source that gave something else each time, or can't be told to have given the same."""


def write_of(line: dict[str, Any], epoch: int, attempt: int, number: int, offset: int) -> Write | None:
    """None where the line does not say which source record it comes from."""
    source, record, named = line.get("source"), line.get("record"), line.get("id")
    if not isinstance(source, list) or not source or not all(_is_place(one) for one in source):
        return None
    data = json_bytes(record)
    key = record[0] if isinstance(record, list) and len(record) == 3 else None
    name = b"" if named is None else json_bytes(named)
    hidden = bool(TOKEN.search(data)) or b"redacted" in name
    places = json_bytes(sorted(source))
    return Write(
        epoch, _digest(places), attempt, number, b"" if named is None else _digest(name),
        b"" if key is None else _digest(json_bytes(key)), _digest(data), hidden, offset,
    )  # fmt: skip


def _is_place(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and type(one[1]) is int


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


class Writes:
    """What was given in epochs that more than one attempt executed."""

    def __init__(self) -> None:
        self._spool = sqlite3.connect("")
        self._spool.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-{_CACHE_KB};")
        self._spool.execute(
            "CREATE TABLE writes (epoch INTEGER, source BLOB, attempt INTEGER, number INTEGER, id BLOB, key BLOB, "
            "what BLOB, hidden INTEGER, place INTEGER)"
        )

    def __enter__(self) -> Writes:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def add(self, writes: Iterable[Write]) -> None:
        """In any order."""
        self._spool.executemany("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", writes)

    def held(self, last_of: Mapping[int, Last]) -> Iterator[Held | Twice]:
        """Epoch by epoch; before each the outputs that were given more than once in it."""
        rows = self._spool.execute("SELECT * FROM writes ORDER BY epoch, source, attempt, number")
        found = (Write(*row) for row in rows)
        for epoch, of_epoch in groupby(found, attrgetter("epoch")):
            held = Held(epoch)
            for _, of_record in groupby(of_epoch, attrgetter("source")):
                yield from _of_record(held, of_record, last_of[epoch])
            yield held


def _of_record(held: Held, found: Iterator[Write], last: Last) -> Iterator[Twice]:
    """All outputs of one source record in one epoch."""
    writes: list[Write] = []
    for one in found:
        if len(writes) < MOST_OUTPUTS_OF_A_RECORD:
            writes.append(one)
        else:
            held.others += 1
    by_attempt = {attempt: list(those) for attempt, those in groupby(writes, attrgetter("attempt"))}
    for attempt, those in by_attempt.items():
        held.outputs[attempt] += len({one.id or one.number for one in those})
    if list(by_attempt) == [last.attempt]:
        return
    _same_ids(held, writes)
    twice = max(_given_again(by_attempt, last), key=lambda one: one.differs is True, default=None)
    if twice:
        yield twice
    elif last.attempt not in by_attempt:
        held.alone += 1
    elif not _named_again(by_attempt, last.attempt):
        held.others += 1


def _same_ids(held: Held, writes: list[Write]) -> None:
    """Writes of one id count once; they are one output where they are the same."""
    of_id: dict[bytes, list[Write]] = {}
    for one in writes:
        if one.id:
            of_id.setdefault(one.id, []).append(one)
    for those in of_id.values():
        if len({one.what for one in those}) > 1:
            held.unlike += 1
        elif len(those) > 1:
            held.once_by_id += 1


def _given_again(by_attempt: dict[int, list[Write]], last: Last) -> Iterator[Twice]:
    """Outputs that more than one attempt gave. What stands at one place of a source may be another record when it is
    read again, so an output is the same one only where all of it is, or its key."""
    same: dict[bytes, dict[int, Write]] = {}
    for attempt, those in by_attempt.items():
        for one in those:
            if not one.id:
                same.setdefault(one.what, {}).setdefault(attempt, one)
    yield from (Twice(tuple(of.values()), False) for of in same.values() if len(of) > 1)
    if last.whole and last.attempt in by_attempt:
        for attempt, those in by_attempt.items():
            if attempt != last.attempt:
                yield from _otherwise(those, by_attempt[last.attempt])


def _otherwise(before: list[Write], whole: list[Write]) -> Iterator[Twice]:
    """Outputs of one key that an attempt gave, and that the whole one gave otherwise: another record, or another id.

    Of two that both ended midway nobody knows that they would not have given the same in another order.
    """
    left: list[dict[bytes, list[Write]]] = [{}, {}]
    for keyed, own, other in zip(left, (before, whole), (whole, before), strict=True):
        known = {one.id or one.what for one in other}
        for one in own:
            if (one.id or one.what) not in known and not (one.id and one.hidden):
                keyed.setdefault(one.key or one.what, []).append(one)
    for key, those in left[0].items():
        for first, second in zip(those, left[1].get(key, ()), strict=False):
            differs = first.what != second.what
            yield Twice((first, second), None if differs and (first.hidden or second.hidden) else differs)


def _named_again(by_attempt: dict[int, list[Write]], last: int) -> bool:
    """Whether all that was given before the last attempt was given by ids that it gave too."""
    ids = {one.id for one in by_attempt[last]}
    return all(one.id and one.id in ids for attempt, those in by_attempt.items() if attempt != last for one in those)
