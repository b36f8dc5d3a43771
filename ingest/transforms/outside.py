"""What came from outside and what went there: lines of `source/`, `sink/` and `sites.ndjson` as rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from ingest.transforms.lines import Fields, read_lines, record_columns
from ingest.transforms.places import Reject
from replay.errors import CorruptMember

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class LinesUnit:
    """One member of JSON lines. `table` is where its rows go."""

    table: str
    task: str
    attempt: int
    epoch: int
    path: str


def read_unit(unit: LinesUnit, stream: BinaryIO, emit: Callable[[Row], None]) -> tuple[int | None, int, Reject | None]:
    """Emits a row per line; returns the first and the last time seen, and the fault that ended the reading, if any."""
    first_us, last_us = None, 0
    try:
        for fields in read_lines(stream, unit.path):
            row, t_us = _ROWS[unit.table](unit, fields)
            emit(row)
            if t_us is not None:
                first_us, last_us = t_us if first_us is None else min(first_us, t_us), max(last_us, t_us)
    except CorruptMember as fault:
        return first_us, last_us, Reject.of(fault, unit.path)
    return first_us, last_us, None


def _source_row(unit: LinesUnit, fields: Fields) -> tuple[Row, int | None]:
    offset, t_us = fields.needed_number("offset"), fields.number("t_us")
    place = fields.value("ref")
    ref = Fields(place, fields.path, fields.offset) if isinstance(place, dict) else None
    reference = (None,) * 4 if ref is None else _reference(ref)
    return (unit.task, unit.attempt, unit.epoch, offset, t_us, *record_columns(fields), *reference), t_us


def _reference(ref: Fields) -> Row:
    return ref.text("topic"), ref.number("partition"), ref.number("offset"), ref.text("sha256")


def _sink_row(unit: LinesUnit, fields: Fields) -> tuple[Row, int | None]:
    n, t_us = fields.needed_number("n"), fields.number("t_us")
    record = record_columns(fields)
    source, txn, id_ = fields.json("source"), fields.number("txn"), fields.text("id")
    return (unit.task, unit.attempt, unit.epoch, n, t_us, *record, source, txn, id_), t_us


def _site_row(unit: LinesUnit, fields: Fields) -> tuple[Row, int | None]:
    site, file, line = fields.needed_number("site"), fields.text("file"), fields.number("line")
    return (unit.task, unit.attempt, site, file, line, fields.text("function"), fields.text("text")), None


_ROWS: dict[str, Callable[[LinesUnit, Fields], tuple[Row, int | None]]] = {
    "sources": _source_row,
    "sinks": _sink_row,
    "sites": _site_row,
}
