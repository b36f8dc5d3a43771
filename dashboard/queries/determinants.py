"""A page of one log's determinants by sequence number, with the very bytes that encode each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dashboard import bundles, payloads
from dashboard.queries.log_filter import LogFilter
from ingest.lake.readers import PublishedJob
from ingest.lake.sealing import SIGN
from replay.bundle.members import member_name

ROWS_SHOWN = 100
HEX_SHOWN = 48

_SQL = """
SELECT seq, "offset", length, kind, channel, value, payload, record_count, timestamp, callback, checkpoint,
       checkpoint_type, storage_ref, buffer_bytes, first_offset, records
FROM {source}
WHERE task = $task AND attempt = $attempt AND thread = $thread AND epoch = $epoch
  AND seq {compared} $seq{more}
ORDER BY seq {order} LIMIT $limit
"""
_AT_SQL = """
SELECT seq FROM {source}
WHERE task = $task AND attempt = $attempt AND thread = $thread AND epoch = $epoch AND "offset" <= $at
ORDER BY seq DESC LIMIT 1
"""
EVERYTHING = LogFilter()


@dataclass(frozen=True, slots=True)
class LogEpoch:
    """One thread log of one attempt, in one epoch."""

    task: str
    attempt: int
    thread: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Determinant:
    seq: int
    offset: int
    length: int
    kind: str
    channel: int | None
    value: int | None
    payload: bytes | None
    record_count: int | None
    timestamp: int | None
    callback: str | None
    checkpoint: int | None
    checkpoint_type: str | None
    storage_ref: bytes | None
    buffer_bytes: int | None
    first_offset: int | None
    records: int | None
    encoded: bytes | None = b""

    @property
    def hex(self) -> str:
        """Its bytes in pairs; of long ones the beginning, and how much more there is; a sign where they are hidden."""
        if self.encoded is None:
            return SIGN
        shown = self.encoded[:HEX_SHOWN].hex(" ")
        more = len(self.encoded) - HEX_SHOWN
        return f"{shown} … {more:,} more" if more > 0 else shown

    @property
    def whole_hex(self) -> str:
        return SIGN if self.encoded is None else self.encoded.hex()

    @property
    def told(self) -> dict[str, Any]:
        """What it has of all that determinants have, bytes in hex."""
        had = {name: getattr(self, name) for name in self.__slots__ if name != "encoded"}
        told = {name: value.hex() if isinstance(value, bytes) else value for name, value in had.items()}
        return {name: value for name, value in told.items() if value is not None} | {"encoded": self.whole_hex}


@dataclass(frozen=True, slots=True)
class DeterminantPage:
    rows: list[Determinant]
    before: int | None
    after: int | None


def determinants_from(
    job: PublishedJob, log: LogEpoch, *, seq: int, wanted: LogFilter = EVERYTHING, limit: int = ROWS_SHOWN
) -> DeterminantPage:
    """From a sequence number on."""
    rows = _rows(job, log, ">=", seq, wanted, limit + 1)
    # Numbers count from 0 without gaps: only of some has it to be asked whether any stands before.
    earlier = bool(_rows(job, log, "<", seq, wanted, 1)) if wanted else bool(rows) and rows[0].seq > 0
    return _page(rows[:limit], earlier, len(rows) > limit)


def determinants_before(
    job: PublishedJob, log: LogEpoch, *, seq: int, wanted: LogFilter = EVERYTHING, limit: int = ROWS_SHOWN
) -> DeterminantPage:
    """The page that ends just before a sequence number, in the same order."""
    rows = _rows(job, log, "<", seq, wanted, limit + 1)
    return _page(rows[:limit][::-1], len(rows) > limit, following=True)


def seq_at(job: PublishedJob, log: LogEpoch, offset: int) -> int | None:
    """The number of the determinant whose bytes hold an offset, or of the last one where it lies behind all."""
    source = job.log_source(log.task, log.attempt, log.thread, log.epoch)
    params = {"task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch, "at": offset}
    rows = job.rows(_AT_SQL.format(source=source), params)
    return rows[0][0] if rows else None


def with_bytes(job_id: str, log: LogEpoch, rows: list[Determinant]) -> list[Determinant]:
    """The same rows with their encoding, read from where the bundle holds exactly these."""
    if not rows or not payloads.opened(job_id):
        return [_with(row, None) for row in rows]
    name = member_name(log.task, log.attempt, log.thread, log.epoch)
    with bundles.opened(job_id) as pack:
        if name not in pack:
            return rows
        member = pack.open(name)
        encoded = []
        # Rows that are filtered may lie far apart: of what is between them nothing is read.
        for row in rows:
            member.seek(row.offset)
            encoded.append(member.read(row.length))
    return [_with(row, data) for row, data in zip(rows, encoded, strict=True)]


def _rows(
    job: PublishedJob, log: LogEpoch, compared: str, seq: int, wanted: LogFilter, limit: int
) -> list[Determinant]:
    source = job.log_source(log.task, log.attempt, log.thread, log.epoch)
    params: dict[str, Any] = {
        "task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch, "seq": seq, "limit": limit,
    }  # fmt: skip
    if wanted:
        params, more = params | wanted.given, wanted.sql
    elif compared == ">=":
        # Of the other columns nothing is read then but what the page shows.
        params["end"], more = seq + limit, " AND seq < $end"
    else:
        params["begin"], more = seq - limit, " AND seq >= $begin"
    sql = _SQL.format(
        source=source,
        compared=compared,
        more=more,
        order="DESC" if compared == "<" else "",
    )
    return [Determinant(*row) for row in job.rows(sql, params)]


def _page(rows: list[Determinant], preceding: bool, following: bool) -> DeterminantPage:
    if not rows:
        return DeterminantPage([], None, None)
    return DeterminantPage(rows, rows[0].seq if preceding else None, rows[-1].seq + 1 if following else None)


def _with(row: Determinant, encoded: bytes | None) -> Determinant:
    return replace(row, encoded=encoded)
