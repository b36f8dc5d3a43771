"""Batches that Spark gives to a function, as what they are beside their rows, and made again of both."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from clonoscope.adapters.spark_shapes import NotMade, all_of, arrow_schema, as_it_was, known_by, made, shape_of


def container_of(value: Any) -> dict[str, Any]:
    """What a batch is. `known` is its hash."""
    found = _frame(value) if hasattr(value, "columns") and not hasattr(value, "num_rows") else _others(value)
    try:
        return {**found, "known": known_by(value)}
    except NotMade:
        return {**found, "unknown": type(value).__qualname__}


def _frame(value: Any) -> dict[str, Any]:
    columns = []
    for at, name in enumerate(value.columns):
        column = value.iloc[:, at]
        columns.append([name if type(name) is str else None, str(column.dtype), _shape_of_cells(column)])
    return {"frame": columns}


def _others(value: Any) -> dict[str, Any]:
    if hasattr(value, "to_pylist"):
        import pyarrow as pa

        whole = hasattr(value, "schema")
        schema = value.schema if whole else pa.schema([pa.field("0", value.type)])
        kind = {"RecordBatch": "batch", "Table": "table", "ChunkedArray": "chunks"}.get(type(value).__name__, "array")
        text = base64.b64encode(schema.remove_metadata().serialize().to_pybytes()).decode()
        return {kind: text, "of": all_of(map(shape_of, value.to_pylist()))}
    name = getattr(value, "name", None)
    name = name if type(name) is str else None
    return {"series": str(value.dtype), "named": name, "of": _shape_of_cells(value)}


def _shape_of_cells(column: Any) -> Any:
    return as_it_was(all_of(map(shape_of, column.tolist()))) if column.dtype == object else None


def contained(rows: Sequence[Any], container: dict[str, Any]) -> Any:
    """The batch again; raises `NotMade` where it is not the one that was."""
    try:
        found = _contained(rows, container)
    except NotMade:
        raise
    except Exception as fault:  # whatever a library says of values that are not what they were
        raise NotMade(f"{type(fault).__name__}: {fault}"[:200]) from fault
    if container.get("known") is None or known_by(found) != container["known"]:
        raise NotMade("what is made of the recorded rows is not what the function was given")
    return found


def _contained(rows: Sequence[Any], container: dict[str, Any]) -> Any:
    match container:
        case {"frame": [*columns]}:
            import pandas as pd

            series = {name: _series([row[name] for row in rows], dtype, of) for name, dtype, of in columns}
            return pd.DataFrame(series, columns=[name for name, _, _ in columns])
        case {"series": str(dtype), "named": name, "of": of}:
            return _series(rows, dtype, of, name)
    import pyarrow as pa

    kind = next(one for one in ("batch", "table", "chunks", "array") if one in container)
    schema = arrow_schema(container[kind])
    values = [made(row, container.get("of")) for row in rows]
    if kind in ("batch", "table"):
        maker = pa.RecordBatch if kind == "batch" else pa.Table
        return maker.from_pylist(values, schema=schema)
    array = pa.array(values, type=schema.field(0).type)
    return array if kind == "array" else pa.chunked_array([array])


def _series(cells: Sequence[Any], dtype: str, of: Any, name: str | None = None) -> Any:
    import numpy as np
    import pandas as pd

    if dtype == "object":
        # One by one: of arrays numpy would make one of more dimensions.
        found = np.empty(len(cells), dtype=object)
        for at, cell in enumerate(cells):
            found[at] = made(cell, of)
        return pd.Series(found, name=name)
    if dtype.startswith("datetime64"):
        moments: Any = pd.Series(pd.to_datetime(list(cells), format="ISO8601"), name=name)
        return moments.astype(dtype)
    if dtype.startswith("float"):
        return pd.Series([float("nan") if one is None else float(one) for one in cells], dtype=dtype, name=name)
    return pd.Series(list(cells), dtype=dtype, name=name)
