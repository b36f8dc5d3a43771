"""The child around a question: past its limits it is refused in a sentence, and never takes the machine with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ingest.lake.askable import Asked
from ingest.lake.schema import EPOCHS
from ingest.launch import ReplayChildDied, ReplayFailed, ReplayLimits, run_question

ROWS = 30_000
LIMITS = ReplayLimits(3 << 29, 4 << 20, open_files=128, cpu_s=3, wall_s=5, chosen=False)


@pytest.fixture(scope="module")
def epochs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lake") / "epochs.parquet"
    columns: dict[str, Any] = {name: [0] * ROWS for name in EPOCHS.schema.names}
    columns |= {"task": ["map.0"] * ROWS, "thread": ["main"] * ROWS, "epoch": list(range(ROWS))}
    pq.write_table(pa.table(columns, schema=EPOCHS.schema), path)
    return path


def asked(epochs: Path, log: Path, sql: str, **more: Any) -> dict[str, Any]:
    table = asdict(Asked("", "epochs", (str(epochs),)))
    request = {"sql": sql, "sealed": False, "tables": [table], **(more or {"which": {"limit": 3}})}
    return run_question(request, LIMITS, log)


BOMBS = (
    "SELECT length(repeat('x', 4_000_000_000))",
    "SELECT list(repeat('x', 100_000)) FROM range(1_000_000)",
    "SELECT sum(hash(a.range, b.range)) FROM range(10_000_000) a, range(10_000_000) b",
    "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t) SELECT count(*) FROM t",
    "SELECT * FROM epochs a, epochs b, epochs c ORDER BY hash(a.epoch, b.epoch, c.epoch)",
)


@pytest.mark.parametrize("sql", BOMBS)
def test_a_bomb_of_memory_or_time_ends_in_its_own_process(sql: str, epochs: Path, tmp_path: Path) -> None:
    try:
        told = asked(epochs, tmp_path / "log", sql)
    except (ReplayFailed, ReplayChildDied):
        pass
    else:
        assert "memory" in told["refused"] or "longer" in told["refused"], told
    assert asked(epochs, tmp_path / "log", "SELECT 1")["page"]["rows"] == [[1]]


def test_all_of_an_answer_is_written_or_nothing_of_it_is_given(epochs: Path, tmp_path: Path) -> None:
    sql = "SELECT task, epoch, [epoch] AS nested FROM epochs ORDER BY epoch"
    tables = {}
    for kind in ("csv", "json", "arrow", "parquet"):
        out = tmp_path / f"answer.{kind}"
        assert asked(epochs, tmp_path / "log", sql, out=str(out), format=kind) == {"rows": ROWS}
        tables[kind] = out
    assert pa.csv.read_csv(tables["csv"]).column("epoch").to_pylist() == list(range(ROWS))
    assert json.loads(tables["json"].read_text().splitlines()[-1])["nested"] == [ROWS - 1]
    with pa.ipc.open_stream(tables["arrow"].read_bytes()) as stream:
        assert stream.read_all().equals(pq.read_table(tables["parquet"]))
    with pytest.raises(ReplayFailed, match=r"at its limit of 4 MiB for one file\. Ask for less"):
        asked(epochs, tmp_path / "log", "SELECT *, repeat('x', 999) FROM epochs", out=str(tmp_path / "x"), format="csv")


def test_tables_that_were_replaced_meanwhile_are_said_to_be(tmp_path: Path) -> None:
    assert asked(tmp_path / "gone.parquet", tmp_path / "log", "FROM epochs") == {"gone": True}
