"""Pages of lake tables: put together they are the table, whatever their size, its repeats and its gaps."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from dashboard.problems import Problem
from dashboard.queries.tables import INCOMPLETE_KEYS, KEYS, Page, table_page
from ingest.lake.manifest import LakeManifest
from ingest.lake.publish import publish, staging_folder
from ingest.lake.readers import Lake, PublishedJob
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.writers import write_rows
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import random_recording


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> PublishedJob:
    folder = tmp_path_factory.mktemp("tables")
    made, _ = ingested_here(random_recording(11).pack(folder / "pack"), folder / "data")
    return made


def all_pages(job: PublishedJob, table: str, limit: int, filters: dict[str, str] | None = None) -> list[Page]:
    pages = [table_page(job, table, filters or {}, "", limit)]
    while (cursor := pages[-1].cursor) is not None:
        pages.append(table_page(job, table, filters or {}, cursor, limit))
        assert len(pages) < 10_000
    return pages


def rows_of(pages: list[Page]) -> list[str]:
    return sorted(json.dumps(row) for page in pages for row in page.rows)


def stored(job: PublishedJob, table: str) -> list[str]:
    rows = job.rows(f'SELECT * FROM "{table}"')
    return sorted(json.dumps([v.hex() if isinstance(v, bytes) else v for v in row]) for row in rows)


def test_every_table_has_a_key() -> None:
    assert set(KEYS) == set(LAKE_TABLES)
    for table, key in KEYS.items():
        assert set(key) <= set(LAKE_TABLES[table].schema.names)


@pytest.mark.parametrize("table", KEYS)
@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_pages_put_together_are_the_table(job: PublishedJob, table: str, limit: int) -> None:
    if limit == 1 and len(job.rows(f'SELECT 1 FROM "{table}"')) > 300:
        limit = 13
    pages = all_pages(job, table, limit)
    assert rows_of(pages) == stored(job, table)
    assert all(len(page.rows) <= limit for page in pages)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("table", sorted(INCOMPLETE_KEYS))
def test_repeated_and_missing_keys_are_not_lost_between_pages(tmp_path: Path, table: str, seed: int) -> None:
    """A hostile recording repeats numbers; what it lacks is null."""
    job = _job_of(tmp_path, table, _scrambled(random.Random(seed), table, 60))
    for limit in (1, 2, 3, 10):
        assert rows_of(all_pages(job, table, limit)) == stored(job, table), f"seed {seed}, limit {limit}"


def test_filters_and_ranges(job: PublishedJob) -> None:
    task, attempt, thread, epoch = job.rows(
        "SELECT task, attempt, thread, epoch FROM epochs ORDER BY determinants DESC, 1, 2, 3, 4 LIMIT 1"
    )[0]
    log = {"task": task, "attempt": str(attempt), "thread": thread, "epoch": str(epoch)}
    whole = [row for page in all_pages(job, "determinants", 5, log) for row in page.rows]
    assert (
        len(whole)
        == job.rows(
            "SELECT determinants FROM epochs WHERE task = $t AND attempt = $a AND thread = $h AND epoch = $e",
            {"t": task, "a": attempt, "h": thread, "e": epoch},
        )[0][0]
    )
    seq = table_page(job, "determinants", log, "", 1).columns.index("seq")
    assert [row[seq] for row in whole] == list(range(len(whole)))
    part = [
        row for page in all_pages(job, "determinants", 5, {**log, "seq.from": "3", "seq.to": "6"}) for row in page.rows
    ]
    assert [row[seq] for row in part] == [number for number in (3, 4, 5) if number < len(whole)]


@pytest.mark.parametrize(
    "filters",
    [{"nonsense": "1"}, {"epoch": "x"}, {"epoch": str(2**70)}, {"epoch; DROP TABLE x": "1"}, {'"': "1"}],
)
def test_a_filter_that_cannot_be_is_refused(job: PublishedJob, filters: dict[str, str]) -> None:
    with pytest.raises(Problem) as refused:
        table_page(job, "determinants", filters, "", 10)
    assert refused.value.status == 422


@pytest.mark.parametrize("cursor", ["x", "e30", "W10", "WzFd", "WyJhIiwxLCJiIiwxLDIsLTFd", "A" * 5000, "\N{SNOWMAN}"])
def test_a_cursor_that_was_never_given_is_refused(job: PublishedJob, cursor: str) -> None:
    with pytest.raises(Problem) as refused:
        table_page(job, "determinants", {}, cursor, 10)
    assert refused.value.status == 422


def test_values_go_in_as_values(job: PublishedJob) -> None:
    assert table_page(job, "events", {"type": "' OR 1=1 --"}, "", 10).rows == []


def test_an_unknown_table_is_not_there(job: PublishedJob) -> None:
    with pytest.raises(Problem) as missing:
        table_page(job, "sqlite_master", {}, "", 10)
    assert missing.value.status == 404


def test_large_rows_make_short_pages_and_none_is_empty(tmp_path: Path) -> None:
    names = LAKE_TABLES["sinks"].schema.names
    rows = [
        tuple(
            {"task": "s.0", "attempt": 0, "epoch": 0, "n": n, "t_us": n, "value": "x" * (3 << 20)}.get(name)
            for name in names
        )
        for n in range(7)
    ]
    pages = all_pages(_job_of(tmp_path, "sinks", rows), "sinks", 1000)
    assert [len(page.rows) for page in pages] == [2, 2, 2, 1]


def _scrambled(rng: random.Random, table: str, count: int) -> list[tuple[Any, ...]]:
    """Few different values, so that rows and keys repeat, and nulls everywhere."""
    schema = LAKE_TABLES[table].schema

    def value(kind: Any) -> Any:
        text = str(kind)
        if rng.random() < 0.3:
            return None
        if text == "string":
            return rng.choice(("", "a", "b"))
        if text == "bool":
            return rng.random() < 0.5
        return rng.choice((b"", b"\0")) if text == "binary" else rng.choice((-1, 0, 1, 2))

    rows = [tuple(value(field.type) for field in schema) for _ in range(count // 2)]
    return rows + rng.choices(rows, k=count - len(rows))


def _job_of(data: Path, table: str, rows: list[tuple[Any, ...]]) -> PublishedJob:
    staging = staging_folder(data, "w", 0)
    staging.mkdir(parents=True)
    files = write_rows(LAKE_TABLES[table], staging, "part-00000", rows)
    LakeManifest("j_1", tuple(files)).write(staging)
    publish(data, staging, "j_1", "w", 0)
    return Lake(data).job("j_1")


@pytest.mark.parametrize("seed", range(4))
def test_any_filters_over_many_logs_give_what_a_scan_gives(tmp_path: Path, seed: int) -> None:
    """The way through the roll-ups and files of single logs must not show."""
    rng = random.Random(seed)
    job, _ = ingested_here(random_recording(seed + 50).pack(tmp_path / "made"), tmp_path / "data", part_bytes=900)
    names = LAKE_TABLES["determinants"].schema.names
    rows = job.rows("SELECT * FROM determinants ORDER BY task, attempt, thread, epoch, seq")
    assert len({path.name for path in job.table_files("determinants")}) > 1
    for _ in range(8):
        filters, wanted = {}, rows
        for name in rng.sample(
            ("task", "attempt", "thread", "epoch", "kind", "seq", "length", "value"), rng.randrange(4)
        ):
            at, some = names.index(name), rng.choice(rows)[names.index(name)]
            if some is None:
                continue
            if isinstance(some, str) or rng.random() < 0.5:
                filters[name] = str(some)
                wanted = [row for row in wanted if row[at] == some]
            else:
                filters |= {f"{name}.from": str(some - 1), f"{name}.to": str(some + 2)}
                wanted = [row for row in wanted if row[at] is not None and some - 1 <= row[at] < some + 2]
        found = [row for page in all_pages(job, "determinants", rng.choice((23, 90)), filters) for row in page.values]
        assert found == wanted, f"seed {seed}, {filters}"
