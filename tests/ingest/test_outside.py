"""Real Parquet and a real PostgreSQL as the outside: rows, snapshots, what a sink committed, and faults by name."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.lake.outside import open_outside
from replay.errors import ReplayError


def rows(address: str) -> list[Any]:
    return [row.value for row in open_outside(address).rows()]


def written(path: Path, orders: list[int]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"order": orders, "price": [Decimal("4.50")] * len(orders)}), path)
    return path


def test_a_file_of_parquet_is_rows(tmp_path: Path) -> None:
    at = datetime.datetime(2026, 11, 19, tzinfo=datetime.UTC)
    table = pa.table({"order": [1, None], "tags": [["a"], []], "at": [at, at], "of": [{"a": b"\xff"}, None]})
    pq.write_table(table, tmp_path / "orders.parquet")
    first, second = rows(f"parquet:{tmp_path}/orders.parquet")
    assert first == {"order": 1, "tags": ["a"], "at": "2026-11-19T00:00:00+00:00", "of": {"a": "\\xff"}}
    assert second["order"] is None


def test_a_folder_is_what_is_visible_in_it_with_its_partitions(tmp_path: Path) -> None:
    written(tmp_path / "day=1" / "a.parquet", [1])
    written(tmp_path / "day=__HIVE_DEFAULT_PARTITION__" / "b.parquet", [2])
    written(tmp_path / "_temporary" / "c.parquet", [3])
    written(tmp_path / ".hidden.parquet", [4])
    found = open_outside(f"parquet:{tmp_path}")
    assert [(row.value["order"], row.value["day"], row.where) for row in found.rows()] == [
        (1, "1", "a.parquet#1"),
        (2, None, "b.parquet#1"),
    ]


def committed(folder: Path, batch: str, *lines: dict[str, Any]) -> None:
    log = folder / "_spark_metadata"
    log.mkdir(exist_ok=True)
    (log / batch).write_text("\n".join(["v1", *(json.dumps(line) for line in lines)]))


def test_of_a_sink_of_spark_only_what_it_committed_counts(tmp_path: Path) -> None:
    folder = tmp_path / "moved since"
    paths = {name: written(folder / "day=1" / f"{name}.parquet", [n]) for n, name in enumerate("abcd")}
    added = {name: {"path": f"file:///srv/out/day=1/{name}.parquet", "action": "add"} for name in paths}
    committed(folder, "0", added["a"])
    committed(folder, "9.compact", added["a"], added["b"])
    committed(folder, "10", added["c"], added["a"] | {"action": "delete"})
    assert [row["order"] for row in rows(f"parquet:{folder}")] == [1, 2], "and d was never committed"
    committed(folder, "11", {"path": "file:///srv/out/day=1/../../x.parquet", "action": "add"})
    with pytest.raises(ReplayError, match="was committed and is not there"):
        open_outside(f"parquet:{folder}")
    committed(folder, "11", {"action": "add"})
    with pytest.raises(ReplayError, match="line 2 names no file that was committed"):
        open_outside(f"parquet:{folder}")


def test_what_is_no_parquet_is_a_fault_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="holds no Parquet"):
        open_outside(f"parquet:{tmp_path}")
    written(tmp_path / "a.parquet", [1])
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(ReplayError, match=r"b\.parquet: it can't be read as Parquet"):
        rows(f"parquet:{tmp_path}")


@pytest.mark.services
def test_a_table_of_postgresql_is_rows_of_one_moment_and_is_not_written(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute('CREATE SCHEMA shop; CREATE TABLE shop."or""d; --" (id int, price numeric, doc jsonb, at date)')
        values = """SELECT n, n * 1.50, '{"a": [1]}', '2026-11-19' FROM generate_series(1, 2500) n"""
        server.execute(f'INSERT INTO shop."or""d; --" {values}'.encode())
        found = open_outside(f'{postgres_url}?table=shop.or"d; --').rows()
        first = next(found)
        assert first.value == {"id": 1, "price": "1.50", "doc": {"a": [1]}, "at": "2026-11-19"}
        server.execute('DELETE FROM shop."or""d; --"')
        assert [row.value["id"] for row in found] == list(range(2, 2501)), "as it was when the reading began"


@pytest.mark.services
@pytest.mark.parametrize(
    ("more", "why"),
    [("?table=gone", 'relation "gone" does not exist'), ("", "needs a table"), ("?table=a.b.c", "does not exist")],
)
def test_what_postgresql_refuses_is_said_without_the_password(postgres_url: str, more: str, why: str) -> None:
    address = postgres_url.replace("clonoscope@", "clonoscope:geheim@")
    with pytest.raises(ReplayError, match=why) as fault:
        open_outside(address + more)
    assert "geheim" not in str(fault.value) + repr(fault.value.__cause__)


@pytest.mark.services
def test_a_view_that_writes_is_refused_by_the_server(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE TABLE t (a int)")
        server.execute(
            "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); RETURN 1; END $$"
        )
        server.execute("CREATE VIEW v AS SELECT f() AS a")
        with pytest.raises(ReplayError, match="read-only transaction"):
            rows(f"{postgres_url}?table=v")
        assert server.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    with pytest.raises(ReplayError, match="table x can't be read") as fault:
        open_outside("postgresql://me:geheim@127.0.0.1:1/db?table=x")
    assert "geheim" not in str(fault.value)
