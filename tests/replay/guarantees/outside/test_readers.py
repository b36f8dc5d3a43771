"""Files, dumps and tables as the outside: what they hold comes as rows, what is broken or hostile is named."""

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replay.errors import ReplayError, WrongSetting
from replay.guarantees.outside import Row
from replay.guarantees.outside.addresses import open_address, parse_address
from replay.guarantees.outside.files import MOST_LINE_BYTES
from replay.guarantees.outside.readers import READERS

Held = Callable[[str, bytes], list[Row]]


@pytest.fixture
def held(tmp_path: Path) -> Held:
    """The rows of a file of such content."""

    def of(scheme: str, content: bytes) -> list[Row]:
        path = tmp_path / "held"
        path.write_bytes(content)
        return list(open_address(f"{scheme}:{path}", READERS).rows())

    return of


def test_lines_are_rows_also_when_they_are_gzipped(held: Held) -> None:
    rows = held("lines", b"1207\r\n\n1208")
    assert [(row.where, row.fields["line"], row.value) for row in rows] == [
        ("1", "1207", "1207"),
        ("3", "1208", "1208"),
    ]
    assert held("lines", gzip.compress(b"1207\r\n\n1208")) == rows


def test_objects_are_rows_and_other_json_is_a_value(held: Held) -> None:
    rows = held("jsonl", '{"order": 1}\n\n[2]\n"ü"\n'.encode())
    assert [(row.where, row.fields) for row in rows] == [
        ("1", {"order": 1}),
        ("3", {"value": [2]}),
        ("4", {"value": "ü"}),
    ]


def test_a_table_names_its_columns_and_fields_may_go_on_over_lines(held: Held) -> None:
    rows = held("csv", b'\xef\xbb\xbforder,note\n1207,"a ""b""\nc"\n\n1208,\n')
    assert [(row.where, row.fields) for row in rows] == [
        ("3", {"order": "1207", "note": 'a "b"\nc'}),
        ("5", {"order": "1208", "note": ""}),
    ]


def kcat(partition: int, offset: int, key: Any, payload: Any, **more: Any) -> bytes:
    """A line as `kcat -J` writes it."""
    message = {"topic": "prices", "partition": partition, "offset": offset, "tstype": "create", "ts": 1, "broker": 1}
    return json.dumps(message | {"headers": ["h", "1"], "key": key, "payload": payload} | more).encode() + b"\n"


def test_a_dump_of_kcat_is_messages_with_their_places(held: Held) -> None:
    rows = held("kafka-dump", kcat(0, 17, "c1", '{"order": 1207}') + kcat(1, 0, None, None))
    assert [row.place for row in rows] == ["prices[0]#17", "prices[1]#0"]
    assert rows[0].value == {"key": "c1", "value": {"order": 1207}} and rows[0].fields["headers"] == {"h": "1"}
    assert (rows[1].fields["key"], rows[1].fields["value"]) == (None, None)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("CreateTime:1795089835026\tPartition:0\tOffset:17\tc1\t{}", "c1", "{}"),
        ("Partition:0\tOffset:17\tnull\tx y", None, "x y"),
        ("NoTimestampType\tPartition:0\tOffset:17\tx", None, "x"),
    ],
)
def test_a_dump_of_the_console_consumer_is_messages_too(held: Held, line: str, key: Any, value: str) -> None:
    (row,) = held("kafka-dump", line.encode())
    assert (row.place, row.fields["key"], row.fields["value"]) == ("[0]#17", key, value)


BROKEN = [
    ("lines", b"a\n" + b"x" * (MOST_LINE_BYTES + 1), "line 2: it is longer than"),
    ("lines", b"a\n\xff\n", "line 2: it is not UTF-8"),
    ("lines", gzip.compress(b"a" * 99)[:20], "cut short or damaged"),
    ("jsonl", b"{}\n{", "line 2: it is not JSON"),
    ("jsonl", b"[" * 100_000, "line 1: it is not JSON: nested too deeply"),
    ("jsonl", b"1e999", "line 1: it is not JSON"),
    ("jsonl", b"9" * 5_000, "line 1: it is not JSON"),
    ("jsonl", b'"\\ud800"', "line 1: it is not JSON"),
    ("csv", b"a,b\n1,2\n3\n", "line 3: it has 1 fields, and the first line 2"),
    ("csv", b"a,a\n1,2\n", "line 1: two of its columns have one name"),
    ("csv", b'a\n"' + b"x" * 200_000, "line 2: it is not CSV: field larger than"),
    ("csv", b'a\n"x', "it is not CSV"),
    ("kafka-dump", b'{"topic": "t", "payload": "x"}', "line 1: a message has an integer partition and offset"),
    ("kafka-dump", kcat(0, 1 << 63, "k", "v"), "integer partition and offset"),
    ("kafka-dump", kcat(0, True, "k", "v"), "integer partition and offset"),
    ("kafka-dump", kcat(0, 1, "k", "v", topic=7), "a topic is a text"),
    ("kafka-dump", b"a plain line", "no message with its partition and offset"),
]


@pytest.mark.parametrize(("scheme", "content", "why"), BROKEN, ids=[why for *_, why in BROKEN])
def test_what_is_broken_is_named_with_file_and_line(held: Held, scheme: str, content: bytes, why: str) -> None:
    with pytest.raises(ReplayError) as fault:
        held(scheme, content)
    assert why in str(fault.value) and fault.value.path is not None and fault.value.path.endswith("held")


# --- SQLite ---

ODD = 'od"d; DROP TABLE x; --'


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop? 100%.db"
    with closing(sqlite3.connect(path)) as data:
        data.execute("CREATE TABLE orders (id INTEGER, price REAL, note BLOB)")
        rows = [(1, 4.5, b"a"), (2, float("inf"), b"\xff"), (3, None, None)]
        data.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        data.execute("INSERT INTO orders VALUES (4, 1, CAST(X'FF41' AS TEXT))")
        data.execute(f'CREATE TABLE "{ODD.replace(chr(34), chr(34) * 2)}" (a)')
        data.execute("CREATE VIEW cheap AS SELECT id FROM orders WHERE price < 9")
        data.commit()
    return path


def test_a_table_and_a_view_are_rows(database: Path) -> None:
    rows = list(open_address(f"sqlite:{database}?table=orders", READERS).rows())
    assert [row.value for row in rows] == [
        {"id": 1, "price": 4.5, "note": "a"},
        {"id": 2, "price": "inf", "note": "\\xff"},
        {"id": 3, "price": None, "note": None},
        {"id": 4, "price": 1.0, "note": "\ufffdA"},
    ]
    assert [row.fields for row in open_address(f"sqlite:{database}?table=cheap", READERS).rows()] == [
        {"id": 1},
        {"id": 4},
    ]


def test_a_name_is_quoted_and_nothing_is_ever_written(database: Path) -> None:
    before = database.read_bytes()
    opened = open_address(f"sqlite:{database}?table={ODD.replace(';', '%3B')}", READERS)
    assert opened.name == ODD and list(opened.rows()) == []
    assert database.read_bytes() == before and len(list(database.parent.iterdir())) == 1


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("sqlite:{}?table=gone", "there is no table gone.*there: cheap"),
        ("sqlite:{}", "needs a table"),
        ("sqlite:{}.gone?table=x", "there is no such file"),
        ("http://127.0.0.1/x", "“http” is nothing that can be read"),
        ("{}", "is nothing that can be read"),
        ("jsonl:", "there is no such file"),
        ("csv:/", "this is a folder"),
    ],
)
def test_what_is_not_there_or_not_meant_so_is_said(database: Path, address: str, why: str) -> None:
    with pytest.raises(ReplayError, match=why):
        open_address(address.format(database), READERS)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"no database at all")
    with pytest.raises(ReplayError, match="no database of SQLite's"):
        open_address(f"sqlite:{tmp_path}/x.db?table=x", READERS)


def test_a_database_that_breaks_off_is_a_fault_behind_what_it_gave(database: Path) -> None:
    with closing(sqlite3.connect(database)) as data:
        data.executemany("INSERT INTO orders VALUES (?, 1, 'x')", ((n,) for n in range(20_000)))
        data.commit()
    content = bytearray(database.read_bytes())
    content[len(content) // 2 :] = b"\xff" * (len(content) - len(content) // 2)
    database.write_bytes(content)
    found = []
    with pytest.raises(ReplayError, match="table orders can't be read"):
        found += [row.where for row in open_address(f"sqlite:{database}?table=orders", READERS).rows()]


def test_an_address_is_never_quoted_beyond_its_scheme() -> None:
    with pytest.raises(WrongSetting) as fault:
        parse_address("mysql://me:secret@host/db?table=x", READERS)
    assert "secret" not in str(fault.value)
