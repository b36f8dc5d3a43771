"""What a piece of evidence is in the tables of a job: its row, what stands around it, and where else it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.lake.readers import PublishedJob
from replay.guarantees.reporting.evidence import Evidence

MOST_ROWS = 40
_BESIDE = 3
"""So many events before and after the one that is named."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of one table. `marked`: which is the one, where others stand around it."""

    title: str
    table: str
    columns: list[str]
    rows: list[tuple[Any, ...]]
    marked: int | None = None

    @property
    def named_rows(self) -> list[list[tuple[str, Any]]]:
        """Each value with its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]


_SENDING = "channel = $channel AND attempt = $attempt AND seq = $number"
_QUESTIONS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "event": (("The event, and those around it", "events", "n BETWEEN $number - $beside AND $number + $beside", "n"),),
    "buffer": (
        ("The buffer", "buffers", _SENDING, "seq"),
        ("Its sendings, with what became of them", "sendings", _SENDING, "sending"),
        ("Deltas that travelled on it", "deltas", _SENDING, 'sending, task, thread, epoch, "offset"'),
    ),
    "source": (("The record", "sources", 'task = $task AND attempt = $attempt AND "offset" = $number', "epoch"),),
    "sink": (("The output", "sinks", "task = $task AND attempt = $attempt AND epoch = $epoch AND n = $number", "n"),),
    "state": (
        ("The checkpoint", "checkpoints", "task = $task AND attempt = $attempt AND checkpoint = $number", "checkpoint"),
    ),
}
# One sending stands among the others of its buffer.
_QUESTIONS["sending"] = _QUESTIONS["receipt"] = _QUESTIONS["buffer"]
_AT_SQL = """
SELECT max(seq) FROM {source} WHERE task = $task AND attempt = $attempt AND thread = $thread AND epoch = $epoch
AND "offset" <= $number
"""


def evidence_rows(job: PublishedJob, named: Evidence) -> list[Found]:
    """Nothing where the recording does not hold it."""
    if named.kind == "det":
        where = "attempt = $attempt AND thread = $thread AND epoch = $epoch AND seq = $number AND task = $task"
        source = job.log_source(named.task, named.attempt or 0, named.thread, named.epoch or 0)
        row = _found(job, named, "The determinant", "determinants", where, "seq", source)
        return [row] if row.rows else []
    return [one for question in _QUESTIONS.get(named.kind, ()) if (one := _found(job, named, *question)).rows]


def determinant_at(job: PublishedJob, named: Evidence) -> int | None:
    """The number of the determinant in which a place of a log lies."""
    source = job.log_source(named.task, named.attempt or 0, named.thread, named.epoch or 0)
    ((found,),) = job.rows(_AT_SQL.format(source=source), _named(named, _AT_SQL))
    return None if found is None else int(found)


def _found(
    job: PublishedJob, named: Evidence, title: str, table: str, where: str, order: str, source: str = ""
) -> Found:
    sql = f"SELECT * FROM {source or table} WHERE {where} ORDER BY {order} LIMIT {MOST_ROWS}"
    columns, rows = job.columns_and_rows(sql, _named(named, where))
    kept = [n for n, name in enumerate(columns) if any(row[n] is not None for row in rows)]
    among = {"events": ("n", named.number), "sendings": ("sending", named.sending)}.get(table)
    marked = None
    if among is not None and among[1] is not None:
        marked = next((n for n, row in enumerate(rows) if row[columns.index(among[0])] == among[1]), None)
        rows = rows if marked is not None else []
    return Found(title, table, [columns[n] for n in kept], [tuple(row[n] for n in kept) for row in rows], marked)


def _named(named: Evidence, sql: str) -> Mapping[str, Any]:
    """Those values that a question has a place for."""
    values = {name: getattr(named, name) for name in ("task", "channel", "thread", "attempt", "epoch", "number")}
    values |= {"sending": named.sending, "beside": _BESIDE}
    return {name: value for name, value in values.items() if f"${name}" in sql}
