"""The lake's tables: columns, types and order. The one place that knows them; every lake folder keeps the version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

SCHEMA_VERSION = 3
"""Raised whenever a table changes; a job of an older version is ingested anew on demand."""

ROW_GROUP_ROWS = 122_880
MAX_FILE_ROWS = 32 * ROW_GROUP_ROWS

NAMES = pa.dictionary(pa.int32(), pa.string())
_I64, _I32, _TEXT, _BYTES, _BOOL = pa.int64(), pa.int32(), pa.string(), pa.binary(), pa.bool_()


@dataclass(frozen=True, eq=False)
class Table:
    """A lake table. `counting` columns hardly ever go down within a log or channel: they are stored as differences.

    In `distinct` columns hardly any value comes twice: they are stored without a dictionary. `scanned` columns are read
    from end to end: they are packed less, and unpack sooner. `named` columns hold few names many times: in memory they
    are numbers of names, files have them as text.
    """

    name: str
    schema: pa.Schema
    counting: frozenset[str] = frozenset()
    distinct: frozenset[str] = frozenset()
    scanned: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    @cached_property
    def in_memory(self) -> pa.Schema:
        """The schema of what is written."""
        fields = [pa.field(one.name, NAMES) if one.name in self.named else one for one in self.schema]
        return pa.schema(fields)


def table(
    name: str,
    columns: dict[str, pa.DataType],
    counting: str = "",
    distinct: str = "",
    scanned: str = "",
    named: str = "",
) -> Table:
    kinds = (frozenset(words.split()) for words in (counting, distinct, scanned, named))
    return Table(name, pa.schema(list(columns.items())), *kinds)


DETERMINANTS = table(
    "determinants",
    {
        "task": _TEXT,
        "attempt": _I64,
        "thread": _TEXT,
        "epoch": _I64,
        "seq": _I64,
        "offset": _I64,
        "length": _I64,
        "kind": _TEXT,
        "channel": _I64,
        "value": _I64,
        "payload": _BYTES,
        "record_count": _I32,
        "timestamp": _I64,
        "callback": _TEXT,
        "checkpoint": _I64,
        "checkpoint_type": _TEXT,
        "storage_ref": _BYTES,
        "buffer_bytes": _I32,
        "first_offset": _I64,
        "records": _I64,
    },
    counting="seq offset value record_count timestamp checkpoint first_offset",
    named="task thread kind callback checkpoint_type",
)
EPOCHS = table(
    "epochs",
    {
        "task": _TEXT,
        "attempt": _I64,
        "thread": _TEXT,
        "epoch": _I64,
        "determinants": _I64,
        "bytes": _I64,
        "start_us": _I64,
        "end_us": _I64,
    },
)
BUFFERS = table(
    "buffers",
    {
        "channel": _TEXT,
        "attempt": _I64,
        "seq": _I64,
        "epoch": _I64,
        "cut_us": _I64,
        "bytes": _I64,
        "flags": _I32,
        "main_epoch": _I64,
        "main_offset": _I64,
        "records": _I64,
    },
    counting="seq cut_us",
)
SENDINGS = table(
    "sendings",
    {
        "channel": _TEXT,
        "attempt": _I64,
        "seq": _I64,
        "sending": _I64,
        "receiver_attempt": _I64,
        "sent_us": _I64,
        "flags": _I32,
        "received_us": _I64,
        "taken_us": _I64,
        "taken_epoch": _I64,
        "taken_offset": _I64,
        "taken_count": _I64,
    },
    counting="seq",
)
DELTAS = table(
    "deltas",
    {
        "channel": _TEXT,
        "attempt": _I64,
        "seq": _I64,
        "sending": _I64,
        "task": _TEXT,
        "thread": _TEXT,
        "epoch": _I64,
        "offset": _I64,
        "length": _I64,
    },
    counting="seq",
)
EVENTS = table(
    "events",
    {
        "n": _I64,
        "t_us": _I64,
        "type": _TEXT,
        "at": _TEXT,
        "attempt": _I64,
        "re": _I64,
        "failure": _I64,
        "task": _TEXT,
        "host": _TEXT,
        "standby": _BOOL,
        "checkpoint": _I64,
        "rollback": _I64,
        "cause": _TEXT,
        "together": _I64,
        "by": _TEXT,
        "bytes": _I64,
        "channel": _TEXT,
        "side": _TEXT,
        "received": _I64,
        "from": _TEXT,
        "to": _TEXT,
        "of": _TEXT,
        "epoch": _I64,
        "result": _TEXT,
        "logs": _TEXT,
        "why": _TEXT,
        "skip": _I64,
        "txn": _I64,
        "records": _I64,
        "records_in": _I64,
        "records_out": _I64,
        "latency_p50_us": _I64,
        "latency_p99_us": _I64,
        "thread": _TEXT,
        "offset": _I64,
        "more": _TEXT,
    },
    counting="n",
)
CHECKPOINTS = table(
    "checkpoints",
    {
        "checkpoint": _I64,
        "task": _TEXT,
        "attempt": _I64,
        "triggered_us": _I64,
        "acknowledged_us": _I64,
        "notified_us": _I64,
        "ignored_us": _I64,
        "bytes": _I64,
        "completed_us": _I64,
        "aborted_us": _I64,
    },
)
FAILURES = table(
    "failures",
    {
        "failure": _I64,
        "task": _TEXT,
        "attempt": _I64,
        "host": _TEXT,
        "cause": _TEXT,
        "together": _I64,
        "failed_us": _I64,
        "detected_us": _I64,
        "detected_by": _TEXT,
        "action": _TEXT,
        "action_us": _I64,
        "action_host": _TEXT,
        "next_attempt": _I64,
        "started_us": _I64,
        "checkpoint": _I64,
        "running_us": _I64,
        "escalated_us": _I64,
        "escalated_why": _TEXT,
        "rollback_us": _I64,
    },
)
METRICS = table(
    "metrics",
    {
        "n": _I64,
        "t_us": _I64,
        "task": _TEXT,
        "attempt": _I64,
        "records_in": _I64,
        "records_out": _I64,
        "latency_p50_us": _I64,
        "latency_p99_us": _I64,
    },
    counting="n",
)
SOURCES = table(
    "sources",
    {
        "task": _TEXT,
        "attempt": _I64,
        "epoch": _I64,
        "offset": _I64,
        "t_us": _I64,
        "key": _TEXT,
        "timestamp": _I64,
        "value": _TEXT,
        "topic": _TEXT,
        "partition": _I64,
        "ref_offset": _I64,
        "sha256": _TEXT,
    },
    counting="offset",
)
SINKS = table(
    "sinks",
    {
        "task": _TEXT,
        "attempt": _I64,
        "epoch": _I64,
        "n": _I64,
        "t_us": _I64,
        "key": _TEXT,
        "timestamp": _I64,
        "value": _TEXT,
        "source": _TEXT,
        "txn": _I64,
        "id": _TEXT,
    },
    counting="n",
)
SITES = table(
    "sites",
    {"task": _TEXT, "attempt": _I64, "site": _I64, "file": _TEXT, "line": _I64, "function": _TEXT, "text": _TEXT},
)
HOLDERS = table(
    "holders",
    {
        "task": _TEXT,
        "attempt": _I64,
        "thread": _TEXT,
        "epoch": _I64,
        "holder": _TEXT,
        "holder_attempt": _I64,
        "t_us": _I64,
        "upto": _I64,
    },
    counting="t_us upto",
    named="task thread holder",
)
"""By epoch, task and thread, holder by holder in time."""

FRONTIERS = table(
    "frontiers",
    {
        "task": _TEXT,
        "attempt": _I64,
        "t_us": _I64,
        "of_task": _TEXT,
        "thread": _TEXT,
        "epoch": _I64,
        "upto": _I64,
    },
    counting="t_us upto",
    named="task of_task thread",
)
"""By epoch, whose log it is and thread, task by task in time."""

REJECTS = table("rejects", {"path": _TEXT, "offset": _I64, "why": _TEXT})

COUNTS = table(
    "counts",
    {
        "task": _TEXT,
        "attempt": _I64,
        "thread": _TEXT,
        "epoch": _I64,
        "kind": _TEXT,
        "determinants": _I64,
        "bytes": _I64,
    },
    named="task thread kind",
)
"""Roll-up of `determinants` by kind, so that no page counts by scanning."""

FLOWS = table(
    "flows",
    {
        "channel": _TEXT,
        "attempt": _I64,
        "epoch": _I64,
        "buffers": _I64,
        "bytes": _I64,
        "records": _I64,
        "sendings": _I64,
        "received": _I64,
        "taken": _I64,
        "delta_bytes": _I64,
    },
)
"""Roll-up of `buffers`, `sendings` and `deltas` by channel, sender's attempt and epoch."""

SECONDS = table(
    "seconds",
    {
        "channel": _TEXT,
        "second": _I64,
        "buffers": _I64,
        "bytes": _I64,
        "records": _I64,
        "sendings": _I64,
        "delta_bytes": _I64,
        "received": _I64,
        "taken": _I64,
    },
)
"""Roll-up of `buffers` and `sendings` by channel and second: of each what was done in it."""

LAKE_TABLES: dict[str, Table] = {
    one.name: one
    for one in (
        DETERMINANTS,
        EPOCHS,
        BUFFERS,
        SENDINGS,
        DELTAS,
        EVENTS,
        CHECKPOINTS,
        FAILURES,
        METRICS,
        SOURCES,
        SINKS,
        SITES,
        HOLDERS,
        FRONTIERS,
        REJECTS,
        COUNTS,
        FLOWS,
        SECONDS,
    )
}

_SQL_TYPES = {"int64": "BIGINT", "int32": "INTEGER", "string": "VARCHAR", "binary": "BLOB", "bool": "BOOLEAN"}


def empty_source(one: Table) -> str:
    """A SQL table expression with the columns of a table and no rows: a table without rows has no file."""
    columns = ", ".join(f'NULL::{_SQL_TYPES[str(field.type)]} AS "{field.name}"' for field in one.schema)
    return f"(SELECT {columns} WHERE false)"
