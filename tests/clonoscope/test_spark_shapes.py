"""Values that Spark gives are made again of what a recording holds of them; equal ones are known by equal hashes."""

import datetime
import decimal
import json
import zoneinfo
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

from clonoscope.adapters.spark_containers import contained, container_of
from clonoscope.adapters.spark_shapes import UNKNOWN, NotMade, all_of, as_it_was, known_by, made, merged, shape_of
from clonoscope.adapters.spark_values import columnar_bytes, columnar_records, plain
from clonoscope.json_values import from_json, to_json

DAY, CENTS = datetime.date(2026, 11, 19), decimal.Decimal("4.50")
MOMENT = datetime.datetime.fromisoformat("2026-11-19T10:00:00.000007")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def kind_of(value: Any) -> str:
    """Two workers must collect tests of the same names: some values are written with their addresses."""
    return type(value).__name__


def through_json(value: Any) -> Any:
    return from_json(to_json(plain(value)))


VALUES: list[Any] = [
    None,
    True,
    7,
    "cup",
    4.5,
    float("inf"),
    b"\xff",
    bytearray(b"y"),
    CENTS,
    DAY,
    MOMENT,
    MOMENT.replace(tzinfo=datetime.UTC),
    datetime.time(10, 30),
    [1, None],
    [CENTS, None],
    (1, DAY),
    {"at": [MOMENT]},
    Row(order=7, line=Row(cents=CENTS, tags=["a"])),
    np.array([1, 2]),
    np.array(["a", None], dtype=object),
    np.int64(4),
    np.float64(2.5),
    MOMENT.replace(tzinfo=BERLIN),
    # An hour that is there twice: the second of them.
    datetime.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
    Row(zoned=7, at=MOMENT.replace(tzinfo=BERLIN)),
    pa.scalar(7),
    pa.scalar(None, pa.int64()),
    (pa.scalar(CENTS), pa.scalar(MOMENT, pa.timestamp("us", tz="Europe/Berlin"))),
]


@pytest.mark.parametrize("value", VALUES, ids=kind_of)
def test_a_value_is_made_again(value: Any) -> None:
    again = made(through_json(value), json.loads(json.dumps(shape_of(value))))
    assert type(again) is type(value) and known_by(again) == known_by(value)
    if isinstance(value, datetime.datetime):
        assert (again, again.tzinfo, again.fold) == (value, value.tzinfo, value.fold)


class Elsewhere(datetime.tzinfo):
    """A zone that nobody else knows."""

    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=5)


NOBODYS: list[Any] = [object(), {1: 2}, MOMENT.replace(tzinfo=Elsewhere()), datetime.timedelta(1)]


@pytest.mark.parametrize("value", NOBODYS, ids=kind_of)
def test_what_can_not_be_made_again_is_not(value: Any) -> None:
    assert as_it_was(shape_of(value)) == UNKNOWN
    with pytest.raises(NotMade):
        made(through_json(value), as_it_was(shape_of(value)))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Europe/Nowhere", "../../etc/passwd", "/etc/localtime", ""])
def test_a_moment_is_not_made_in_a_zone_that_is_another_here(zone: str) -> None:
    with pytest.raises(NotMade):
        made("2026-11-19T10:00:00+05:00", {"zone": zone})


def test_a_shape_grows_with_what_rows_hold() -> None:
    first, second = Row(a=None, b=[]), Row(a=CENTS, b=[DAY])
    grown = merged(shape_of(first), shape_of(second))
    for row in (first, second):
        assert made(through_json(row), grown) == row
    assert merged(shape_of(Row(a=1)), shape_of(Row(b=1))) == UNKNOWN
    assert all_of(map(shape_of, [1, "a"])) == UNKNOWN
    with pytest.raises(NotMade):
        made("a", shape_of(1))


OTHERS = [(1, True), (1, 1.0), ("4.50", CENTS), ([1], (1,)), (b"a", bytearray(b"a")), (CENTS, decimal.Decimal("4.5"))]
OTHERS += [(np.int64(1), 1), ([["a"], "b"], ["a", ["b"]]), (np.array([1]), np.array([1], dtype="int32"))]
OTHERS += [(pd.Series([1]), pd.Series([1.0])), (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}))]
OTHERS += [(pa.array([1]), pa.array([1], pa.int32())), (Row(a=1), Row(b=1))]


@pytest.mark.parametrize(("one", "other"), OTHERS, ids=kind_of)
def test_what_is_not_the_same_is_known_by_another_hash(one: Any, other: Any) -> None:
    assert known_by(one) != known_by(other)


def test_what_nobody_knows_again_has_no_hash() -> None:
    with pytest.raises(NotMade, match="object"):
        known_by([object()])


def test_one_moment_in_two_zones_is_one_result() -> None:
    moment = MOMENT.replace(tzinfo=datetime.UTC)
    assert known_by(moment) == known_by(moment.astimezone(BERLIN))


FRAME = pd.DataFrame(
    {
        "n": [1, 2, 3],
        "price": [1.5, None, float("inf")],
        "text": ["a", None, "c"],
        "at": pd.to_datetime(pd.Series(["2026-11-19T10:00:00.000007", None, "2026-11-20"]), format="ISO8601"),
        "zoned": pd.to_datetime([1, 2, 3], utc=True).tz_convert("Europe/Berlin"),
        "cents": [CENTS, None, CENTS],
        "tags": [np.array(["a"], dtype=object), np.array([], dtype=object), None],
        "counts": [np.array([1]), np.array([2, 3]), None],
        "is": [True, False, True],
        "day": [DAY] * 3,
        "line": [{"sku": "cup"}, {"sku": None}, None],
        "data": [b"a", b"\xff", None],
    }
)
# As Spark has times.
MICROS: dict[str, Any] = {"at": "datetime64[us]", "zoned": "datetime64[us, Europe/Berlin]"}
BATCH = pa.RecordBatch.from_pandas(FRAME.astype(MICROS))
BATCHES = [FRAME, *(FRAME[name] for name in FRAME.columns), BATCH, pa.Table.from_batches([BATCH, BATCH])]
BATCHES += [BATCH.column(0), BATCH.slice(1), pa.chunked_array([BATCH.column("cents")])]


def rows_of(batch: Any) -> list[Any]:
    return [from_json(row) for row in to_json(columnar_records(batch))]


@pytest.mark.parametrize("batch", BATCHES, ids=lambda one: f"{type(one).__name__} {getattr(one, 'name', '')}")
def test_a_batch_is_made_again(batch: Any) -> None:
    again = contained(rows_of(batch), json.loads(json.dumps(container_of(batch))))
    assert type(again) is type(batch) and known_by(again) == known_by(batch)
    if isinstance(batch, pd.DataFrame):
        assert list(map(str, again.dtypes)) == list(map(str, batch.dtypes))


def test_a_batch_of_other_rows_is_not_made() -> None:
    rows = rows_of(FRAME)
    rows[1]["text"] = "b"
    with pytest.raises(NotMade, match="not what the function was given"):
        contained(rows, container_of(FRAME))
    categories = pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["b", "a"]))
    with pytest.raises(NotMade):
        contained(rows_of(categories), container_of(categories))


def test_equal_arrays_within_a_column_have_equal_bytes() -> None:
    def bytes_of(texts: list[str]) -> list[bytes]:
        return list(columnar_bytes(pd.Series([np.array(["".join(one)], dtype=object) for one in texts])))

    assert bytes_of(["cup"]) == bytes_of(["cup"]) != bytes_of(["cap"])
