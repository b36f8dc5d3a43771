"""What Spark tasks hand back besides rows: rejects, times, sums. All of it pickles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from ingest.lake.log_index import KEY
from ingest.lake.schema import EPOCHS
from replay.errors import CorruptMember


class Reject(NamedTuple):
    """A row of `rejects`: what could not be read, or disagrees."""

    path: str
    offset: int | None
    why: str

    @classmethod
    def of(cls, fault: CorruptMember, path: str) -> Reject:
        why = f"{fault.why}. {fault.remedy}." if fault.remedy else f"{fault.why}."
        return cls(fault.path or path, fault.offset, why)


class LogKey(NamedTuple):
    """One thread log of one attempt in one epoch."""

    task: str
    attempt: int
    thread: str
    epoch: int


@dataclass(slots=True)
class Times:
    """When each log's epoch was first and last seen alive."""

    seen: dict[LogKey, tuple[int, int]] = field(default_factory=dict)

    def note(self, key: LogKey, t_us: int) -> None:
        known = self.seen.get(key)
        if known is None:
            self.seen[key] = (t_us, t_us)
        elif t_us < known[0] or t_us > known[1]:
            self.seen[key] = (min(known[0], t_us), max(known[1], t_us))

    def merge(self, other: Times) -> None:
        for key, (first_us, last_us) in other.seen.items():
            self.note(key, first_us)
            self.note(key, last_us)


TIMES = pa.schema([EPOCHS.schema.field(name) for name in (*KEY, "start_us", "end_us")])
"""`Times` as columns, of which the driver has those of all parts: as objects they would be most of its memory."""


def in_columns(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """The same rows."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(one, kind.type) for one, kind in zip(columns, schema, strict=True)], schema=schema)


def in_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The same rows."""
    return list(zip(*table.to_pydict().values(), strict=True))


class Flow(NamedTuple):
    """A row of the roll-up `flows`."""

    channel: str
    attempt: int
    epoch: int
    buffers: int
    bytes: int
    records: int
    sendings: int
    received: int
    taken: int
    delta_bytes: int
