"""Files, publishing and reading of the lake, without Spark."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.lake import writers as writers_module
from ingest.lake.engine import Limits, connect
from ingest.lake.errors import NotPublished, QueryTooLarge, QueryTooLong, UnknownTable
from ingest.lake.manifest import LakeManifest, ManifestFault, schema_version
from ingest.lake.publish import UnsafeName, job_link, publish, published_folder, staging_folder, unpublish
from ingest.lake.readers import Lake
from ingest.lake.schema import DETERMINANTS, EVENTS, LAKE_TABLES, REJECTS, SCHEMA_VERSION
from ingest.lake.writers import TableWriter, write_rows
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import random_recording


def published(data: Path, job: str, work: str, rows: list[tuple[str, int | None, str]], attempt: int = 0) -> Path:
    staging = staging_folder(data, work, attempt)
    staging.mkdir(parents=True)
    files = write_rows(REJECTS, staging, "part-00000", rows)
    LakeManifest(job, tuple(files), rejects=len(rows)).write(staging)
    return publish(data, staging, job, work, attempt)


# --- writing ---


@pytest.mark.parametrize("seed", range(5))
def test_batches_of_any_size_come_back_in_full_row_groups(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writers_module, "MAX_FILE_ROWS", 1000)
    rng = random.Random(seed)
    writer = TableWriter(DETERMINANTS, tmp_path, "part-00000", row_group_rows=100)
    total, spans = 0, []
    while total < 4000:
        rows = rng.randrange(1, 350)
        columns = {"task": "a.0", "seq": range(total, total + rows), "kind": "order", "offset": range(rows)}
        spans.append((writer.add(columns, rows), total))
        total += rows
    files = writer.close()
    assert sum(file.rows for file in files) == total, f"seed {seed}"
    seqs: dict[str, list[int]] = {}
    for file in files:
        found = pq.ParquetFile(tmp_path / file.path)
        sizes = [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)]
        assert set(sizes[:-1]) <= {100}, f"seed {seed}"
        assert (sum(sizes), len(sizes)) == (file.rows, file.row_groups)
        assert file.rows <= 1000
        assert file.bytes == (tmp_path / file.path).stat().st_size
        seqs[file.path] = found.read(["seq"]).column(0).to_pylist()
    for span, first in spans:
        assert seqs[span.path][span.first_row : span.first_row + span.rows] == list(range(first, first + span.rows))
    assert [seq for file in files for seq in seqs[file.path]] == list(range(total))


def test_sequence_numbers_are_stored_as_differences(tmp_path: Path):
    writer = TableWriter(DETERMINANTS, tmp_path, "part")
    writer.add({"task": "a.0", "seq": range(50_000), "kind": "order"}, 50_000)
    (file,) = writer.close()
    group = pq.ParquetFile(tmp_path / file.path).metadata.row_group(0)
    encodings = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert "DELTA_BINARY_PACKED" in encodings["seq"].encodings
    assert encodings["task"].compression == "ZSTD"


def test_large_payloads_are_written_before_they_fill_the_memory(tmp_path: Path):
    writer = TableWriter(DETERMINANTS, tmp_path, "part")
    for n in range(6):
        writer.add({"task": "a.0", "seq": [n], "payload": [b"x" * (writers_module.PENDING_BYTES // 2)]}, 1)
        assert writer._pending_bytes < writers_module.PENDING_BYTES
    (file,) = writer.close()
    assert (file.rows, file.row_groups > 1) == (6, True)


def test_an_abandoned_or_unfinished_file_has_no_name(tmp_path: Path):
    writer = TableWriter(DETERMINANTS, tmp_path, "part", row_group_rows=10)
    writer.add({"task": "a.0", "seq": range(100)}, 100)
    assert list(tmp_path.rglob("*.parquet")) == []
    writer.abandon()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_staging_folder_that_was_taken_away_does_not_come_back(tmp_path: Path):
    writer = TableWriter(DETERMINANTS, tmp_path / "gone", "part")
    writer.add({"task": "a.0", "seq": [1]}, 1)
    with pytest.raises(FileNotFoundError):
        writer.close()
    assert not (tmp_path / "gone").exists()


# --- publishing ---


def test_a_version_is_published_by_one_switch_and_the_older_one_goes(tmp_path: Path):
    first = published(tmp_path, "j_1", "w1", [("a", 1, "old.")])
    other = published(tmp_path, "j_11", "w2", [])
    second = published(tmp_path, "j_1", "w3", [("a", 1, "new.")])
    assert published_folder(tmp_path, "j_1") == second
    assert not first.exists()
    assert other.exists()
    unpublish(tmp_path, "j_1")
    assert not second.exists()
    assert other.exists()
    with pytest.raises(NotPublished):
        published_folder(tmp_path, "j_1")


def test_publishing_again_after_a_crash_does_no_harm(tmp_path: Path):
    version = published(tmp_path, "j_1", "w1", [("a", 1, "x.")])
    job_link(tmp_path, "j_1").unlink()  # the crash came between the move and the switch
    assert publish(tmp_path, staging_folder(tmp_path, "w1", 0), "j_1", "w1", 0) == version
    assert published_folder(tmp_path, "j_1") == version
    with pytest.raises(NotPublished):
        publish(tmp_path, staging_folder(tmp_path, "w9", 0), "j_1", "w9", 0)
    assert published_folder(tmp_path, "j_1") == version


@pytest.mark.parametrize("name", ("..", "a/b", "", ".versions", "replays", "a\0b", "a.b", "-rf", "x" * 200, "ä"))
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path):
    with pytest.raises(UnsafeName):
        job_link(tmp_path, name)


def test_a_manifest_comes_back_as_it_was_written_and_a_damaged_one_says_so(tmp_path: Path):
    files = tuple(write_rows(REJECTS, tmp_path, "part", [("a", None, "b.")]))
    manifest = LakeManifest("j_1", files, files, {"tasks": 3, "näme": [1]}, 1)
    manifest.write(tmp_path)
    assert LakeManifest.read(tmp_path) == manifest
    assert schema_version(tmp_path) == SCHEMA_VERSION
    (tmp_path / "manifest.json").write_text("{}")
    assert schema_version(tmp_path) is None
    with pytest.raises(ManifestFault, match="Ingest the job anew"):
        LakeManifest.read(tmp_path)


# --- reading ---


def test_every_table_can_be_asked_with_bound_values(tmp_path: Path):
    published(tmp_path, "j_1", "w1", [("a", 1, "x."), ("b'; DROP VIEW rejects; --", None, "y.")])
    lake = Lake(tmp_path)
    sql = "SELECT why FROM rejects WHERE path = $path"
    assert lake.rows(sql, {"path": "b'; DROP VIEW rejects; --"}, job="j_1") == [("y.",)]
    assert lake.rows(sql, {"path": "nothing"}, job="j_1") == []
    for name, table in LAKE_TABLES.items():
        names, _ = lake.job("j_1").columns_and_rows(f"SELECT * FROM {name}")
        assert names == table.schema.names
    assert [path.name for path in lake.table_files("j_1", "rejects")] == ["part-00000.parquet"]
    with pytest.raises(UnknownTable, match="events"):
        lake.table_files("j_1", "../../etc/passwd")
    with pytest.raises(NotPublished):
        lake.rows("SELECT 1", job="j_2")


def test_a_lake_follows_what_is_published_and_keeps_versions_open(tmp_path: Path):
    published(tmp_path, "j_1", "w1", [("a", 1, "old.")])
    lake = Lake(tmp_path)
    before = lake.job("j_1")
    assert lake.job("j_1") is before
    published(tmp_path, "j_1", "w2", [("a", 1, "new.")])
    assert lake.rows("SELECT why FROM rejects", job="j_1") == [("new.",)]
    assert lake.job("j_1") is not before


def test_many_threads_ask_while_versions_are_switched(tmp_path: Path):
    published(tmp_path, "j_1", "w0", [("a", 0, "x.")])
    lake, failed, stop = Lake(tmp_path), [], threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                rows = lake.rows('SELECT count(*), min("offset"), max("offset") FROM rejects', job="j_1")
                if rows[0][0] != 1 or rows[0][1] != rows[0][2]:
                    failed.append(rows)
            except Exception as fault:
                failed.append(repr(fault))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(1, 25):
        published(tmp_path, "j_1", f"w{n}", [("a", n, "x.")])
    stop.set()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_switch_between_reading_the_link_and_looking_at_the_folder_goes_unnoticed(tmp_path: Path, monkeypatch):
    published(tmp_path, "j_1", "w1", [("a", 1, "x.")])
    readlink = os.readlink

    def readlink_then_switch(path: Path) -> str:
        monkeypatch.undo()
        target = readlink(path)
        published(tmp_path, "j_1", "w2", [("a", 2, "x.")])
        return target

    monkeypatch.setattr(os, "readlink", readlink_then_switch)
    assert published_folder(tmp_path, "j_1").name.startswith("j_1.w2-")


def test_cursors_too_keep_what_files_say_of_themselves(tmp_path: Path):
    """Reading it anew for every query takes longer than most of them."""
    cursor = connect(tmp_path, Limits()).cursor()
    assert cursor.execute("SELECT current_setting('parquet_metadata_cache')").fetchall() == [(True,)]


def test_a_query_ends_when_its_time_is_over_and_the_next_one_works(tmp_path: Path):
    published(tmp_path, "j_1", "w1", [("a", 1, "x.")])
    lake = Lake(tmp_path)
    endless = "SELECT count(*) FROM range(10000000) a, range(1000000) b WHERE a.range + b.range = 3"
    with pytest.raises(QueryTooLong, match=r"0\.3 s"):
        lake.rows(endless, job="j_1", timeout_s=0.3)
    assert lake.rows("SELECT count(*) FROM rejects", job="j_1", timeout_s=0.3) == [(1,)]


def test_a_query_that_needs_too_much_memory_is_refused(tmp_path: Path):
    published(tmp_path, "j_1", "w1", [])
    lake = Lake(tmp_path, Limits(memory_mib=64))
    with pytest.raises(QueryTooLarge):
        lake.rows("SELECT list(range::VARCHAR || repeat('x', 100)) FROM range(5000000)", job="j_1")


@pytest.mark.parametrize(
    "sql",
    (
        "COPY (SELECT 1) TO '{outside}/x.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{outside}/secret')",
        "ATTACH '{outside}/x.db'",
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM 'https://example.com/x.parquet'",
    ),
)
def test_the_database_reads_its_own_files_and_nothing_else(sql: str, tmp_path: Path):
    published(tmp_path / "data", "j_1", "w1", [("a", 1, "x.")])
    (tmp_path / "secret").write_text("secret")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(duckdb.Error):
        Lake(tmp_path / "data").rows(sql.format(outside=tmp_path), job="j_1")
    assert sorted(tmp_path.rglob("*")) == before


def test_events_have_a_column_for_every_field_of_the_format(tmp_path: Path):
    fields = (
        "n t_us type at attempt re failure task host standby checkpoint rollback cause together by bytes channel side "
        "received from to of epoch result logs why skip txn records records_in records_out latency_p50_us "
        "latency_p99_us thread offset"
    )
    assert set(fields.split()) | {"more"} == set(EVENTS.schema.names)


def test_many_small_batches_take_little_memory_until_they_are_written(tmp_path: Path):
    """A bundle may have a million logs of a byte each; what a batch takes beside its bytes must not add up."""
    writer = TableWriter(DETERMINANTS, tmp_path, "part")
    before = pa.total_allocated_bytes()
    rows = 5000
    for seq in range(rows):
        writer.add({"task": f"map-1.{seq}", "seq": pa.array([seq]), "offset": pa.array([0]), "channel": [7]}, 1)
    assert (pa.total_allocated_bytes() - before) / rows < 400
    (file,) = writer.close()
    assert pq.read_table(tmp_path / file.path)["seq"].to_pylist() == list(range(rows))


# --- in a new process ---

FIRST = """
import sys
from pathlib import Path

import dashboard.asgi
from ingest.lake.readers import Lake

before = set(sys.modules)
task, attempt, thread, epoch = sys.argv[2:]
assert Lake(Path(sys.argv[1])).job("j_1").log_index.spans(task, int(attempt), thread, int(epoch))
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before} & {"pandas", "numpy", "numba"}))
"""


def test_whoever_asks_a_server_first_for_a_log_does_not_wait_for_libraries(tmp_path: Path):
    made = random_recording(41)
    ingested_here(made.pack(tmp_path), tmp_path / "data")
    key = [str(made.rows["determinants"][0][name]) for name in ("task", "attempt", "thread", "epoch")]
    line = [sys.executable, "-c", FIRST, str(tmp_path / "data"), *key]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == "[]\n"
