"""What Spark gives to Python, as records: how many rows it is, its bytes for a hash, its values as JSON."""

from __future__ import annotations

import datetime
import decimal
import json
import marshal
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

# Values of these libraries are many rows at once.
_COLUMNAR = ("pandas", "pyarrow")
# Equal values have equal bytes: nothing is told by reference.
_MARSHAL = 0
CLOCKS = tuple(f"getCurrent{what}{unit}" for what in ("ProcessingTime", "Watermark") for unit in ("Ms", "InMs"))


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


def sides_of(columns: Sequence[Any]) -> list[Sequence[Any]]:
    """Columns share their rows; whole frames beside each other, as a cogroup has them, have rows of their own."""
    are_frames = all(hasattr(one, "columns") for one in columns)
    return [[one] for one in columns] if are_frames else [columns] if columns else []


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
        yield _cells(value.tolist()) if found.dtype == object else found.tobytes()


def _cells(found: list[Any]) -> bytes:
    """Of arrays within a column `marshal` would write addresses."""
    has_arrays = any(type(one).__module__ == "numpy" for one in found)
    return json.dumps(plain(found), sort_keys=True).encode() if has_arrays else row_bytes(found)


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
    """As JSON has it: times as text, numbers of numpy as numbers, and those that are none as what they are called."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    if value is None or isinstance(value, bool | int | float | str | bytes | bytearray):
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
    if hasattr(value, "tolist") and isinstance(getattr(value, "ndim", None), int):
        return plain(value.tolist())
    if hasattr(value, "as_py"):
        return plain(value.as_py())
    return str(value)


class TakesRows(Protocol):
    """Who is told of rows that were taken."""

    def rows(self, found: Sequence[Any]) -> None:
        """Rows."""

    def row(self, found: Any) -> None:
        """One."""

    def asked(self, action: str, arguments: tuple[Any, ...], keywords: dict[str, Any], found: Any) -> None:
        """What was collected, and how."""

    def asks_each(self, found: Iterable[Any]) -> Iterator[Any]:
        """Rows that are taken as they are asked for."""


_MANY = ("collect", "take", "tail", "head", "first")
_AT_ONCE = ("toPandas", "toArrow")
_COUNTS = ("count", "isEmpty")


def observe_actions(frame: Any, taking: TakesRows) -> None:
    """What the driver's function collects of its batch is what it took; frames made of this one are not watched."""
    # Some actions are made of others.
    inside: list[str] = []

    def put(name: str, rows_of: Callable[[Any], Sequence[Any]] | None) -> None:
        real = getattr(frame, name)

        def action(*arguments: Any, **keywords: Any) -> Any:
            inside.append(name)
            try:
                found = real(*arguments, **keywords)
            finally:
                inside.pop()
            if not inside:
                taking.asked(name, arguments, keywords, found)
                if rows_of is not None:
                    taking.rows(rows_of(found))
            return found

        setattr(frame, name, action)

    for name in _MANY:
        put(name, lambda found: found if isinstance(found, list) else [] if found is None else [found])
    for name in _AT_ONCE:
        put(name, columnar_records)
    for name in _COUNTS:
        put(name, None)
    iterated = frame.toLocalIterator

    def to_local_iterator(*arguments: Any, **keywords: Any) -> Iterator[Any]:
        return taking.asks_each(iterated(*arguments, **keywords))

    frame.toLocalIterator = to_local_iterator


def all_of(values: Iterable[Any]) -> list[Any]:
    """For calls whose rows are spread over several arguments: row by row."""
    return [list(row) for row in zip(*values, strict=False)]
