"""Questions in SQL: what they answer, and that none of a hundred ways leads out of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.lake.askable import Asked
from ingest.lake.asking import MOST_CELL, MOST_COLUMNS, Asking
from ingest.lake.errors import IngestError, QueryTooLarge, QuestionRefused
from ingest.lake.schema import EPOCHS, SINKS
from tests.ingest.asking.ways_out import WAYS_OUT

ROWS = 2_500
SECRET = "swordfish"
secret_of_the_process = pa.table({"word": [SECRET]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    columns = {"task": ["map.0"] * ROWS, "attempt": list(range(ROWS)), "thread": ["main"] * ROWS, "epoch": [0] * ROWS}
    columns |= {"determinants": [3] * ROWS, "bytes": [9] * ROWS, "start_us": [None] * ROWS, "end_us": [1] * ROWS}
    pq.write_table(pa.table(columns, schema=EPOCHS.schema), folder / "epochs.parquet")
    sinks = {name: [None] for name in SINKS.schema.names} | {"task": ["sink.0"], "value": [SECRET], "n": [0]}
    pq.write_table(pa.table(sinks, schema=SINKS.schema), folder / "sinks.parquet")
    (folder / "secret.csv").write_text(f"word\n{SECRET}\n")
    return folder


def asking_of(folder: Path, *, sealed: bool = False) -> Asking:
    tables = [Asked("", name, (str(folder / f"{name}.parquet"),)) for name in ("epochs", "sinks")]
    tables += [Asked("", "rejects", ()), Asked("replay_r_abcdefghijkl", "steps", ())]
    return Asking(tables, sealed=sealed, memory_mib=256, threads=1)


@pytest.fixture(scope="module")
def asking(folder: Path) -> Iterator[Asking]:
    yield asking_of(folder)


def test_an_answer_is_paged_sorted_and_says_whether_more_follows(asking: Asking) -> None:
    page = asking.page("SELECT attempt, task FROM epochs", limit=2, order=1, descending=True)
    assert (page.columns, page.types) == (["attempt", "task"], ["BIGINT", "VARCHAR"])
    assert page.rows == [[ROWS - 1, "map.0"], [ROWS - 2, "map.0"]] and page.more
    last = asking.page("SELECT attempt FROM epochs ORDER BY attempt", skip=ROWS - 1, limit=2)
    assert last.rows == [[ROWS - 1]] and not last.more
    assert asking.page("SELECT attempt FROM epochs WHERE attempt < 2 ORDER BY 1", limit=2).more is False


def test_tables_without_rows_and_of_replays_are_there(asking: Asking) -> None:
    assert asking.page("SELECT count(*) FROM rejects").rows == [[0]]
    assert asking.page("SELECT count(*) FROM replay_r_abcdefghijkl.steps").rows == [[0]]


@pytest.mark.parametrize(
    "sql",
    [
        "FROM epochs",
        "DESCRIBE epochs",
        "SUMMARIZE epochs",
        "SHOW TABLES",
        "VALUES (1)",
        "SELECT 1 -- a word",
        "SELECT 1;",
    ],
)
def test_short_forms_of_a_select_are_questions_too(sql: str, asking: Asking) -> None:
    assert asking.page(sql, limit=5).rows


def test_values_of_every_kind_are_plain(asking: Asking) -> None:
    sql = "SELECT blob 'ab', [1, 2], {'a': blob 'c'}, 'nan'::double, 1.5::decimal(3,1), NULL, true, DATE '2026-11-19'"
    assert asking.page(sql).rows == [
        ["6162", "[1, 2]", '{"a": "63"}', "nan", "1.5", None, True, "2026-11-19"],
    ]


def test_what_is_long_is_cut_and_says_so_and_pages_never_end_in_nothing(asking: Asking) -> None:
    page = asking.page(f"SELECT repeat('x', {MOST_CELL + 7}) FROM range(900)")
    assert page.more and 0 < len(page.rows) < 900
    assert page.rows[0][0].endswith("… [7 more characters]")
    with pytest.raises(QuestionRefused, match="columns, and may have"):
        asking.page(f"SELECT {', '.join('1' for _ in range(MOST_COLUMNS + 1))}")


def test_a_mistake_is_told_as_duckdb_tells_it_at_the_line_where_it_stands(asking: Asking) -> None:
    with pytest.raises(QuestionRefused, match=r'"attemp" not found(.|\n)*LINE 3: WHERE attemp'):
        asking.page("\nSELECT *\nFROM epochs\nWHERE attemp = 1".removeprefix("\n"))


def test_who_may_not_see_values_finds_no_columns_that_tell_them(folder: Path) -> None:
    sealed = asking_of(folder, sealed=True)
    assert "value" in asking_of(folder).page("FROM sinks").columns
    page = sealed.page("FROM sinks")
    assert "value" not in page.columns and SECRET not in str(page)
    for sql in (
        "SELECT value FROM sinks",
        "SELECT * FROM sinks WHERE value LIKE 's%'",
        "SELECT sinks.value FROM sinks",
    ):
        with pytest.raises(QuestionRefused):
            sealed.page(sql)


def test_there_are_a_hundred_ways_out_to_be_tried() -> None:
    assert len(set(WAYS_OUT)) == len(WAYS_OUT) >= 100


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_way_leads_out(way: str, folder: Path, asking: Asking) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    named = {
        "secret": folder / "secret.csv",
        "lake": folder / "epochs.parquet",
        "new": folder / "new",
        "folder": folder,
    }
    sql = way
    for name, path in named.items():
        sql = sql.replace(f"{{{name}}}", str(path))
    try:
        page = asking.page(sql, limit=10)
    except IngestError as refused:
        # Paths that the asker named may be said back; those of this machine may not.
        assert SECRET not in str(refused) and ".duckdb" not in str(refused), refused
    else:
        # Some are questions that say nothing of what is outside.
        assert SECRET not in str(page) and str(folder) not in str(page), page
        assert way in _HARMLESS, page
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert asking.page("SELECT count(*) FROM epochs").rows == [[ROWS]]


_HARMLESS = {
    "SELECT 1 -- )",
    "SELECT * FROM sql_auto_complete('SEL')",
    "SELECT * FROM duckdb_secrets()",  # there are none
    "SELECT * FROM which_secret('s3://x', 's3')",
}


def test_a_question_past_its_memory_is_refused_and_the_next_one_answered(asking: Asking) -> None:
    with pytest.raises(QueryTooLarge):
        asking.page("SELECT list(range) FROM range(1_000_000_000)")
    assert asking.page("SELECT 1").rows == [[1]]
