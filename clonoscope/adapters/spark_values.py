"""What Spark gives to Python, as records: how many rows it is, its bytes for a hash, its values as JSON."""

from __future__ import annotations

import datetime
import decimal
import json
import marshal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from clonoscope import services

# Values of these libraries are many rows at once.
_COLUMNAR = ("pandas", "pyarrow")
# Equal values have equal bytes: nothing is told by reference.
_MARSHAL = 0
_CLOCKS = tuple(f"getCurrent{what}{unit}" for what in ("ProcessingTime", "Watermark") for unit in ("Ms", "InMs"))


def is_columnar(value: Any) -> bool:
    """Whether it is many rows at once."""
    return type(value).__module__.partition(".")[0] in _COLUMNAR


def is_iterator(value: Any) -> bool:
    """Whether rows, or batches of them, are still to come."""
    return hasattr(value, "__next__")


def row_bytes(values: Any) -> bytes:
    """Of what stands for a row."""
    try:
        # A row of Spark's is a tuple with names.
        return marshal.dumps(tuple(values) if isinstance(values, tuple) else values, _MARSHAL)
    except ValueError:
        return json.dumps(plain(values), sort_keys=True, default=str).encode()


def columnar_rows(value: Any) -> int:
    """How many."""
    return int(value.num_rows) if hasattr(value, "num_rows") else len(value)


def columnar_bytes(value: Any) -> Iterator[bytes]:
    """Of a batch; the same for equal batches."""
    kind = type(value).__module__.partition(".")[0]
    if kind == "pyarrow":
        yield from _arrow_bytes(value)
    elif hasattr(value, "columns"):
        for name in value.columns:
            yield str(name).encode()
            yield from columnar_bytes(value[name])
    else:
        found = value.to_numpy()
        yield row_bytes(value.tolist()) if found.dtype == object else found.tobytes()


def _arrow_bytes(value: Any) -> Iterator[bytes]:
    import pyarrow as pa

    if isinstance(value, pa.Table):
        for batch in value.combine_chunks().to_batches():
            yield from _arrow_bytes(batch)
    elif isinstance(value, pa.RecordBatch):
        yield str(value.schema.names).encode()
        yield value.serialize()
    else:
        array = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
        yield pa.RecordBatch.from_arrays([array], ["0"]).serialize()


def columnar_records(value: Any) -> list[Any]:
    """Row by row."""
    if hasattr(value, "to_pylist"):
        found: list[Any] = value.to_pylist()
    elif hasattr(value, "to_dict") and hasattr(value, "columns"):
        found = value.to_dict("records")
    else:
        found = value.tolist()
    return [plain(one) for one in found]


def plain(value: Any) -> Any:
    """As JSON has it: times as text, numbers of numpy as numbers."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if hasattr(value, "asDict"):
        return plain(value.asDict(recursive=True)) if hasattr(value, "__fields__") else [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return plain(value.item())
    return str(value)


class TakesRows(Protocol):
    """Who is told of rows that were taken."""

    def rows(self, found: Sequence[Any]) -> None:
        """Rows."""

    def row(self, found: Any) -> None:
        """One."""


def observe_actions(frame: Any, taking: TakesRows) -> None:
    """What the driver's function collects of its batch is what it took; frames made of this one are not watched."""
    # Some actions are made of others.
    inside: list[str] = []

    def put(name: str, rows_of: Callable[[Any], Sequence[Any]]) -> None:
        real = getattr(frame, name)

        def action(*arguments: Any, **keywords: Any) -> Any:
            inside.append(name)
            try:
                found = real(*arguments, **keywords)
            finally:
                inside.pop()
            if not inside:
                taking.rows(rows_of(found))
            return found

        setattr(frame, name, action)

    for name in ("collect", "take", "tail", "head", "first"):
        put(name, lambda found: found if isinstance(found, list) else [] if found is None else [found])
    for name in ("toPandas", "toArrow"):
        put(name, columnar_records)
    iterated = frame.toLocalIterator

    def to_local_iterator(*arguments: Any, **keywords: Any) -> Iterator[Any]:
        for row in iterated(*arguments, **keywords):
            taking.row(row)
            yield row

    frame.toLocalIterator = to_local_iterator


class _Watched:
    """Stands for what tells a function the time of its batch; each answer is recorded."""

    def __init__(self, real: Any):
        self._real = real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in _CLOCKS:
            return found

        def clock() -> Any:
            return services.current.get().answer(sys._getframe(1), name, found())

        return clock


def watched(value: Any) -> Any:
    """Timer values and the state of a group know the batch's time, and the watermark."""
    return _Watched(value) if type(value).__name__ in ("TimerValues", "GroupState") else value


def all_of(values: Iterable[Any]) -> list[Any]:
    """For calls whose rows are spread over several arguments: row by row."""
    return [list(row) for row in zip(*values, strict=False)]
