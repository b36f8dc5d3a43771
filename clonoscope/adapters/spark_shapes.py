"""Of which types values are that Spark gives, beside what JSON says of them, so that they can be made again; and hashes
by which it is known that they are the same.

A shape is JSON: `=` of what JSON gives back, a type's name, or what it is made of. Spark's columns have one type each,
so that one shape holds for all rows; `?` is of what can't be made again.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import hashlib
import marshal
import zoneinfo
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Shape = Any
NOTHING: Shape = None
SAME, UNKNOWN = "=", "?"
ZONED = "zoned?"
"""A time in a zone of which nobody knows the name: made again, it is the same moment at the same distance from UTC."""
_DIGEST_BYTES = 16
_MARSHAL = 0
_PLAIN = {type(None), bool, int, float, str, bytes}
_LEAVES: dict[type, str] = {
    str: "str",
    float: "float",
    bytes: "bytes",
    bytearray: "bytearray",
    decimal.Decimal: "Decimal",
    datetime.date: "date",
    datetime.time: "time",
}


class NotMade(Exception):
    """A value can't be made again of what is recorded of it, or has no bytes that are the same for equal ones."""


def shape_of(value: Any) -> Shape:
    """Of one value."""
    kind = type(value)
    if value is None:
        return NOTHING
    if kind is int or kind is bool:
        return SAME
    if kind in _LEAVES:
        return _LEAVES[kind]
    if kind is datetime.datetime:
        return _of_moment(value.tzinfo)
    if kind is list:
        return {"list": all_of(map(shape_of, value))}
    if kind is tuple:
        return {"tuple": [shape_of(one) for one in value]}
    if kind is dict:
        named = all(type(key) is str for key in value)
        return {"dict": {key: shape_of(one) for key, one in value.items()}} if named else UNKNOWN
    return _of_others(kind.__module__.partition(".")[0], value)


def _of_moment(zone: datetime.tzinfo | None) -> Shape:
    if zone is None or type(zone) is datetime.timezone:
        return "datetime"
    return {"zone": zone.key} if type(zone) is zoneinfo.ZoneInfo and zone.key is not None else ZONED


def _of_others(library: str, value: Any) -> Shape:
    if library == "pyspark" and hasattr(value, "asDict"):
        names = list(getattr(value, "__fields__", ()))
        if len(set(names)) != len(names):
            return UNKNOWN
        return {"row": [[name, shape_of(one)] for name, one in zip(names, value, strict=True)]} if names else UNKNOWN
    if library == "numpy" and getattr(value, "ndim", None) == 1:
        dtype = str(value.dtype)
        return {"array": dtype, "of": all_of(map(shape_of, value.tolist()))}
    if library == "numpy" and getattr(value, "ndim", None) == 0 and value.dtype.kind in "biufU":
        return {"number": str(value.dtype)}
    if library == "pyarrow" and hasattr(value, "as_py"):
        return {"scalar": of_arrow_type(value.type), "of": shape_of(value.as_py())}
    return UNKNOWN


def of_arrow_type(type_: Any) -> str:
    """A type of Arrow's, as text."""
    import pyarrow as pa

    return base64.b64encode(pa.schema([pa.field("0", type_)]).serialize().to_pybytes()).decode()


def arrow_schema(text: str) -> Any:
    """What was written so, or as a schema."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))


def all_of(shapes: Iterable[Shape]) -> Shape:
    """One for all of them."""
    found: Shape = NOTHING
    for one in shapes:
        found = merged(found, one)
    return found


def merged(one: Shape, other: Shape) -> Shape:
    """A shape for the values of both."""
    if one == other or other is NOTHING:
        return one
    if one is NOTHING:
        return other
    if not isinstance(one, dict) or not isinstance(other, dict) or list(one) != list(other):
        return UNKNOWN
    if "list" in one:
        return {"list": merged(one["list"], other["list"])}
    if "array" in one and one["array"] == other["array"]:
        return {"array": one["array"], "of": merged(one["of"], other["of"])}
    if "tuple" in one and len(one["tuple"]) == len(other["tuple"]):
        return {"tuple": [merged(*pair) for pair in zip(one["tuple"], other["tuple"], strict=True)]}
    if "row" in one and [name for name, _ in one["row"]] == [name for name, _ in other["row"]]:
        pairs = zip(one["row"], other["row"], strict=True)
        return {"row": [[name, merged(shape, more)] for (name, shape), (_, more) in pairs]}
    if "dict" in one:
        keys = [*one["dict"], *(key for key in other["dict"] if key not in one["dict"])]
        return {"dict": {key: merged(one["dict"].get(key), other["dict"].get(key)) for key in keys}}
    return UNKNOWN


def made(value: Any, shape: Shape) -> Any:
    """A value again, of what JSON holds of it; raises `NotMade`."""
    if value is None and not (isinstance(shape, dict) and "scalar" in shape):
        return None
    if isinstance(shape, dict):
        return _made_of_parts(value, shape)
    try:
        return _MAKERS[shape](value)
    except (KeyError, ValueError, TypeError, decimal.DecimalException) as fault:
        raise NotMade(f"{value!r:.60} is none of {shape}") from fault


def _made_of_parts(value: Any, shape: dict[str, Any]) -> Any:
    match shape:
        case {"list": members} if isinstance(value, list):
            return [made(one, members) for one in value]
        case {"tuple": [*parts]} if isinstance(value, list) and len(parts) == len(value):
            return tuple(made(one, each) for one, each in zip(value, parts, strict=True))
        case {"dict": {**named}} if isinstance(value, dict):
            return {key: made(one, named.get(key)) for key, one in value.items()}
        case {"row": [*columns]} if isinstance(value, dict) and [name for name, _ in columns] == list(value):
            from pyspark.sql import Row

            return Row(*value)(*(made(value[name], each) for name, each in columns))
        case {"array": str(dtype), "of": cells} if isinstance(value, list):
            import numpy as np

            return np.array([made(one, cells) for one in value], dtype=dtype)
        case {"number": str(dtype)}:
            import numpy as np

            return np.dtype(dtype).type(value)
        case {"scalar": str(text), "of": of}:
            import pyarrow as pa

            return pa.scalar(made(value, of), type=arrow_schema(text).field(0).type)
        case {"zone": str(name)} if isinstance(value, str):
            return _moment_in(name, value)
    raise NotMade(f"{value!r:.60} is none of {list(shape)}")


def _moment_in(name: str, text: str) -> datetime.datetime:
    """The same moment, where the zone is still as far from UTC then as it was."""
    try:
        told = datetime.datetime.fromisoformat(text)
        found = told.astimezone(zoneinfo.ZoneInfo(name))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as fault:
        raise NotMade(f"{text!r:.60} can't be told in {name!r:.60}") from fault
    if found.utcoffset() != told.utcoffset():
        raise NotMade(f"{name!r:.60} is elsewhere here than where it was recorded")
    return found


def _as_it_is(value: Any) -> Any:
    if type(value) not in (int, bool):
        raise ValueError
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


_MAKERS: dict[Shape, Callable[[Any], Any]] = {
    SAME: _as_it_is,
    "str": _text,
    "float": float,
    "bytes": _bytes,
    "bytearray": lambda value: bytearray(_bytes(value)),
    "Decimal": decimal.Decimal,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    ZONED: datetime.datetime.fromisoformat,
}


def as_it_was(shape: Shape) -> Shape:
    """Only for what is made again in every respect: nobody looks at names of zones where a batch has a type for it."""
    return UNKNOWN if repr(ZONED) in repr(shape) else shape


# --- hashes ---


def known_by(value: Any) -> str:
    """The same for equal values of the same types, and for no others. Raises `NotMade` where that can't be told."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in _parts(value):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def known_parts(values: Iterable[Any]) -> tuple[list[Any], list[str]]:
    """What is known again of what a call is handed, and of which types all else is, which stands there by its type."""
    parts: list[Any] = []
    others: list[str] = []
    for one in values:
        try:
            known_by(one)
            parts.append(one)
        except (NotMade, RecursionError):
            others.append(type(one).__qualname__)
            parts.append(others[-1])
    return parts, others


def _parts(value: Any) -> Iterator[bytes]:
    """Nothing but plain values goes to `marshal`: of what has a buffer it would write addresses."""
    kind = type(value)
    if kind in _PLAIN or (kind in (list, tuple) and _PLAIN.issuperset(map(type, value))):
        yield marshal.dumps(value, _MARSHAL)
        return
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    library = kind.__module__.partition(".")[0]
    if kind in (list, tuple):
        yield len(value).to_bytes(8, "big")
        for one in value:
            yield from _parts(one)
    elif kind is dict:
        yield from _parts(list(value))
        yield from _parts(list(value.values()))
    elif kind is bytearray:
        yield bytes(value)
    elif library in _OF_LIBRARIES:
        yield from _OF_LIBRARIES[library](value)
    else:
        raise NotMade(f"nobody knows a {kind.__qualname__} again")


def _of_the_standard(value: Any) -> Iterator[bytes]:
    """Of a time in a zone the moment: its zone is no part of what Spark has."""
    zoned = getattr(value, "tzinfo", None) is not None and hasattr(value, "astimezone")
    yield repr(value.astimezone(datetime.UTC) if zoned else value).encode()


def _of_spark(value: Any) -> Iterator[bytes]:
    if hasattr(value, "jsonValue"):
        yield value.json().encode()
        return
    if not hasattr(value, "asDict"):
        raise NotMade(f"nobody knows a {type(value).__qualname__} again")
    yield from _parts(list(getattr(value, "__fields__", ())))
    yield from _parts(list(value))


def _of_numpy(value: Any) -> Iterator[bytes]:
    yield f"{value.dtype} {value.shape}".encode()
    yield from _parts(value.tolist()) if value.dtype == object else [value.tobytes()]


def _of_pandas(value: Any) -> Iterator[bytes]:
    """The index is nobody's: Spark doesn't look at it."""
    if hasattr(value, "columns"):
        for name in value.columns:
            yield from _parts(name)
        for at in range(len(value.columns)):
            yield from _of_pandas(value.iloc[:, at])
    elif hasattr(value, "dtype"):
        yield f"{value.dtype!r} {len(value)}".encode()
        found = value.to_numpy()
        yield from _parts(value.tolist()) if found.dtype == object else [found.tobytes()]
    else:
        yield repr(value).encode()


def _of_arrow(value: Any) -> Iterator[bytes]:
    """By what it says: what lies below nothing is anything."""
    yield str(value.schema.remove_metadata() if hasattr(value, "schema") else value.type).encode()
    yield from _parts([value.as_py()] if hasattr(value, "as_py") else value.to_pylist())


_OF_LIBRARIES = {
    "datetime": _of_the_standard,
    "decimal": _of_the_standard,
    "uuid": _of_the_standard,
    "pyspark": _of_spark,
    "numpy": _of_numpy,
    "pandas": _of_pandas,
    "pyarrow": _of_arrow,
}
