"""The parts of Spark's adapter that need no engine: settings, values, names of queries, what stands for a function."""

import datetime
import decimal
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.types import Row

from clonoscope import WrongUse
from clonoscope.adapters.spark import RecordedFunction, RecordedProcessor, RecordedWriter, recorder
from clonoscope.adapters.spark_daemon import settings_of
from clonoscope.adapters.spark_places import Place, task_of
from clonoscope.adapters.spark_values import columnar_bytes, columnar_records, columnar_rows, plain, row_bytes
from tests.clonoscope.recorded import recording

FRAME = pd.DataFrame({"n": [1, 2, 3], "text": ["a", "b", None], "at": pd.to_datetime([1, 2, 3], utc=True)})
BATCH = pa.RecordBatch.from_pandas(FRAME)
VALUES: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
    ("a frame", FRAME.copy, lambda: FRAME.assign(n=[1, 2, 4])),
    ("names of columns", FRAME.copy, lambda: FRAME.rename(columns={"n": "m"})),
    ("numbers", lambda: FRAME["n"].copy(), lambda: FRAME["n"] + 1),
    ("texts", lambda: FRAME["text"].copy(), lambda: FRAME["text"].fillna("c")),
    ("times", lambda: FRAME["at"].copy(), lambda: FRAME["at"] + pd.Timedelta(seconds=1)),
    ("numbers that may be lacking", lambda: pd.array([1, None], "Int64"), lambda: pd.array([1, 2], "Int64")),
    ("a batch of Arrow's", lambda: BATCH, lambda: BATCH.slice(1)),
    ("a slice", lambda: BATCH.slice(1), lambda: BATCH.slice(0, 2)),
    ("an array of Arrow's", lambda: pa.array(["a", "b"]), lambda: pa.array(["a", "c"])),
]


@pytest.mark.parametrize(("name", "made", "other"), VALUES, ids=[one[0] for one in VALUES])
def test_equal_batches_have_equal_bytes_and_others_have_others(
    name: str, made: Callable[[], Any], other: Callable[[], Any]
) -> None:
    def bytes_of(value: Any) -> bytes:
        return b"|".join(bytes(part) for part in columnar_bytes(pd.Series(value) if "lacking" in name else value))

    assert bytes_of(made()) == bytes_of(made()) != bytes_of(other())


def test_a_slice_of_a_batch_is_the_batch_of_its_rows() -> None:
    whole = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})
    small = pa.RecordBatch.from_pydict({"n": [2, 3]})
    assert [bytes(one) for one in columnar_bytes(whole.slice(1))] == [bytes(one) for one in columnar_bytes(small)]
    assert columnar_rows(whole.slice(1)) == 2 and columnar_records(whole.slice(1)) == [{"n": 2}, {"n": 3}]


def test_rows_have_bytes_whatever_they_hold() -> None:
    interned, made = "cup", "".join(["c", "up"])
    assert row_bytes((1, interned)) == row_bytes((1, made)) != row_bytes((1, "lamp"))
    assert row_bytes((interned, interned)) == row_bytes((interned, made))
    row = Row(order=7, sku="cup", at=datetime.date(2026, 11, 19), cents=decimal.Decimal("4.50"))
    assert row_bytes(row) == row_bytes(Row(**row.asDict())) != row_bytes(Row(**row.asDict() | {"order": 8}))


def test_values_become_json() -> None:
    row = Row(order=np.int64(7), at=datetime.date(2026, 11, 19), lines=[Row(cents=decimal.Decimal("4.50"))])
    assert plain(row) == {"order": 7, "at": "2026-11-19", "lines": [{"cents": "4.50"}]}
    assert plain((1, None, {2: b"x"})) == [1, None, {"2": b"x"}]


# --- what stands for a function ---


def price(order: int, sku: str) -> float:
    return order * len(sku)


class Counting:
    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        yield key

    def init(self, handle: Any) -> str:
        return f"with {handle}"


class Writer:
    def process(self, row: Any) -> None: ...


def test_what_is_recorded_looks_and_works_as_before_where_there_is_no_stream(tmp_path: Path) -> None:
    recorded = recorder("orders", dir=tmp_path)
    function = pickle.loads(pickle.dumps(recorded(price)))  # noqa: S301 - as Spark does
    assert isinstance(function, RecordedFunction) and recorded(function) is function
    assert inspect.signature(function) == inspect.signature(price)
    assert inspect.getfullargspec(function).args == ["order", "sku"] and function.__name__ == "price"
    assert function(2, sku="cup") == 6
    processor = pickle.loads(pickle.dumps(recorded(Counting())))  # noqa: S301 - as Spark does
    assert isinstance(processor, RecordedProcessor) and processor.init("handle") == "with handle"
    assert list(processor.handleInputRows("key", iter(()), None)) == ["key"]
    assert isinstance(recorded(Writer()), RecordedWriter) and recorded(Writer()).open(0, 0)
    assert list(recorded.outputs([1, 2], key="order")) == [1, 2]
    assert list(tmp_path.iterdir()) == []


def test_wrong_settings_are_told_in_the_driver(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="payload"):
        recorder("orders", dir=tmp_path, payload="some")  # type: ignore[arg-type]
    with pytest.raises(WrongUse, match="redact"):
        recorder("orders", dir=tmp_path, redact=["a..b"])
    with pytest.raises(WrongUse, match="allow"):
        recorder("orders", dir=tmp_path, allow=["a..b"])
    with pytest.raises(WrongUse, match="key of tokens"):
        recorder("orders", dir=tmp_path, key=tmp_path / "no key")


def test_of_a_key_only_its_file_travels_and_nobody_prints_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = b"sixteen bytes or more"
    monkeypatch.chdir(tmp_path)
    Path("key").write_bytes(key)
    named, given = recorder("orders", key="key", allow=["order"]), recorder("orders", key=key)
    travels = pickle.dumps(named(price))
    assert key not in travels and pickle.loads(travels)._settings == named.settings  # noqa: S301 - as Spark does
    assert named.settings.key == str(tmp_path / "key") and named.settings.allow == ("order",)
    assert given.settings.key == key and key.decode() not in repr(given.settings)


def test_queries_of_one_name_with_other_checkpoints_are_told_apart(tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        names = [
            task_of(made, Place(query, name, "run", 0, 3), price).id
            for query, name in (
                ("aaaaaaaa-1", "orders"),
                ("bbbbbbbb-2", "orders"),
                ("cccccccc-3", ""),
                ("dddd", "a b/c"),
            )
        ]
        assert names == ["orders-price.3", "orders.2-price.3", "cccccccc-price.3", "a_b_c-price.3"]
        assert task_of(made, Place("bbbbbbbb-2", "orders", "", 9, 0), price, "look up").id == "orders.2-look_up.0"
        assert task_of(made, Place("dddd", "", "", 0, 0), Counting()).id == "a_b_c-Counting.0"


# --- the daemon ---


def test_the_daemon_is_set_by_variables(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"sixteen bytes or more")
    given = {"NAME": "orders", "DIR": "/srv", "KEEP": "9", "MAX_MB": "1.5", "PAYLOAD": "none", "RETRY": "replay"}
    given |= {"REDACT": "customer.email, *.iban", "ALLOW": "order, lines.sku", "INTERCEPT": "jobs"}
    given |= {"KEY_FILE": str(tmp_path / "key")}
    made = settings_of({f"CLONOSCOPE_{name}": value for name, value in given.items()})
    assert (made.name, made.dir, made.keep, made.max_mb, made.payload) == ("orders", "/srv", 9, 1.5, "none")
    assert (made.retry, made.redact, made.intercept) == ("replay", ("customer.email", "*.iban"), ("jobs",))
    assert (made.allow, made.key) == (("order", "lines.sku"), str(tmp_path / "key"))
    made = settings_of({"PATH": "/bin"})
    assert (made.allow, made.key) == (None, None)
    assert (made.name, made.keep, made.payload, made.intercept, made.retry) == ("spark", None, "ref", True, None)


def test_whether_results_are_recorded_follows_from_what_else_is(tmp_path: Path) -> None:
    def results(**settings: Any) -> bool:
        return recorder("orders", dir=tmp_path, **settings).settings.results

    assert (results(), results(payload="full"), results(results=True)) == (False, True, True)
    assert not results(payload="full", redact=["iban"]) and not results(payload="full", results=False)
    with pytest.raises(WrongUse, match="where values are redacted"):
        results(payload="none", results=True)
    assert settings_of({"CLONOSCOPE_RESULTS": "yes"}).results
    assert not settings_of({"CLONOSCOPE_RESULTS": "no", "CLONOSCOPE_PAYLOAD": "full"}).results


@pytest.mark.parametrize(
    ("name", "value"), [("RESULTS", "1"), ("KEEP", "all"), ("MAX_MB", "much"), ("PAYLOAD", "some"), ("NAME", "a b")]
)
def test_wrong_variables_are_told_by_name(name: str, value: str) -> None:
    with pytest.raises(WrongUse, match=value):
        settings_of({f"CLONOSCOPE_{name}": value})
