"""Parquet files put together by their bytes: every reader finds the same rows, and nothing half done is left."""

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from ingest.lake.splicing import spliced
from ingest.lake.step_schema import CAUSES, STEPS
from ingest.lake.thrift import Malformed, Reader, struct_bytes
from ingest.lake.writers import TableWriter

TEXTS = ("", "x", "same", "same", "ö" * 40)


def rows_of(rng: random.Random, first: int, count: int) -> list[tuple[Any, ...]]:
    return [
        (n, "map-1.0", "main", rng.choice(("append", "cut-buffer")), "Running", n // 50, n % 50, n, None,
         rng.choice((None, n * 9)), rng.choice((None, "a>b")), None, rng.randrange(99), f"{rng.choice(TEXTS)} {n}")
        for n in range(first, first + count)
    ]  # fmt: skip


def part(folder: Path, name: str, rows: list[tuple[Any, ...]], row_group_rows: int = 32) -> Path:
    writer = TableWriter(STEPS, folder, name, row_group_rows=row_group_rows, level=1, page_index=False)
    writer.add_rows(rows)
    return folder / writer.close()[0].path


@pytest.mark.parametrize("seed", range(6))
def test_all_rows_are_there_in_their_order(seed: int, tmp_path: Path):
    rng = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    paths = []
    for n in range(rng.choice((1, 2, 9))):
        more = rows_of(rng, len(rows), rng.choice((1, 31, 32, 33, 700)))
        paths.append(part(tmp_path, f"part-{n}", more))
        rows += more
    whole = tmp_path / "steps" / "all.parquet"
    assert spliced(paths, whole) == len(rows)
    assert [tuple(row.values()) for row in pq.read_table(whole).to_pylist()] == rows
    assert duckdb.sql(f"SELECT * FROM '{whole}'").fetchall() == rows
    somewhere = rng.randrange(len(rows))
    assert duckdb.sql(f"SELECT * FROM '{whole}' WHERE step = {somewhere}").fetchall() == [rows[somewhere]]


def test_each_row_group_still_says_what_it_holds(tmp_path: Path):
    rng = random.Random(1)
    paths = [part(tmp_path, f"part-{n}", rows_of(rng, n * 100, 100)) for n in range(20)]
    whole = tmp_path / "steps" / "all.parquet"
    spliced(paths, whole)
    says = pq.read_metadata(whole)
    assert (says.num_rows, says.num_row_groups) == (2000, 80)
    spans = [says.row_group(n).column(0).statistics for n in range(says.num_row_groups)]
    firsts = [n * 100 + first for n in range(20) for first in (0, 32, 64, 96)]
    assert [span.min for span in spans] == firsts
    assert [span.max + 1 for span in spans] == [*firsts[1:], 2000]


def test_files_of_other_columns_are_refused_and_nothing_is_left(tmp_path: Path):
    writer = TableWriter(CAUSES, tmp_path, "other")
    writer.add_rows([(0, "step:0")])
    other = tmp_path / writer.close()[0].path
    one = part(tmp_path, "one", rows_of(random.Random(2), 0, 5))
    with pytest.raises(Malformed, match="other columns"):
        spliced([one, other], tmp_path / "steps" / "all.parquet")
    one.write_bytes(b"PAR1 and no more")
    with pytest.raises(Malformed, match="no Parquet file"):
        spliced([one], tmp_path / "steps" / "all.parquet")
    assert sorted(path.name for path in (tmp_path / "steps").iterdir()) == ["one.parquet"]


@pytest.mark.parametrize("seed", range(5))
def test_a_footer_is_written_as_it_was_read(seed: int, tmp_path: Path):
    data = part(tmp_path, "one", rows_of(random.Random(seed), 0, 500)).read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    assert struct_bytes(Reader(footer).struct()) == footer
