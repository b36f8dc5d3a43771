"""From a bundle's bytes through the real driver to Parquet: tables equal what was put in, whatever it was."""

import json
import struct
from pathlib import Path

import pytest

from ingest.lake.schema import LAKE_TABLES
from tests.ingest.conftest import Ingested
from tests.ingest.made import manifest_of, packed, random_recording
from tests.vector_rows import VECTORS, members_and_rows

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

FIRST_OF = {
    "buffers": ("channel", "attempt", "seq"),
    "sendings": ("channel", "attempt", "seq", "sending", "receiver_attempt"),
    "determinants": ("task", "attempt", "thread", "epoch", "seq"),
}


def table(job, name: str) -> list[dict]:
    """Rows of a table in the order in which they are stored, without what is null."""
    columns, rows = job.columns_and_rows(f"SELECT * FROM {name}")
    return [{c: v for c, v in zip(columns, row, strict=True) if v is not None} for row in rows]


def sorted_rows(rows: list[dict]) -> list[str]:
    return sorted(repr(sorted((k, v) for k, v in row.items() if v is not None)) for row in rows)


@pytest.mark.parametrize("seed", range(6))
def test_the_lake_equals_what_was_recorded(seed: int, ingested: Ingested, tmp_path: Path):
    made = random_recording(seed, layout="grouping" if seed % 2 else "flat")
    job, result = ingested(made.pack(tmp_path))
    assert (result.status, result.rejects) == ("ready", 0), f"seed {seed}: {table(job, 'rejects')}"
    for name in LAKE_TABLES.keys() - {"epochs", "counts", "flows", "seconds", "holders", "frontiers"}:
        assert sorted_rows(table(job, name)) == sorted_rows(made.rows[name]), f"seed {seed}, table {name}"


@pytest.mark.parametrize("seed", (11, 12))
def test_rows_are_stored_in_the_order_of_their_keys(seed: int, ingested: Ingested, tmp_path: Path):
    job, _ = ingested(random_recording(seed).pack(tmp_path))
    for name, key in FIRST_OF.items():
        keys = [tuple(row[column] for column in key) for row in table(job, name)]
        assert keys == sorted(keys), f"seed {seed}, table {name}"


@pytest.mark.parametrize("seed", (21, 22))
def test_roll_ups_equal_what_a_scan_finds(seed: int, ingested: Ingested, tmp_path: Path):
    job, _ = ingested(random_recording(seed).pack(tmp_path))
    counts = job.rows("SELECT task, attempt, thread, epoch, kind, determinants, bytes FROM counts ORDER BY ALL")
    assert counts == job.rows(
        "SELECT task, attempt, thread, epoch, kind, count(*), sum(length)::BIGINT FROM determinants "
        "GROUP BY ALL ORDER BY ALL"
    )
    flows = job.rows("SELECT channel, attempt, epoch, buffers, bytes, records FROM flows ORDER BY ALL")
    assert flows == job.rows(
        "SELECT channel, attempt, epoch, count(*), sum(bytes)::BIGINT, sum(records)::BIGINT FROM buffers "
        "GROUP BY ALL ORDER BY ALL"
    )
    seconds = "(SELECT channel, {} // 1000000 AS second, {} FROM {} GROUP BY ALL)"
    scans = [
        seconds.format("cut_us", "count(*) AS buffers, sum(bytes) AS bytes, sum(records) AS records", "buffers"),
        seconds.format("sent_us", "count(sent_us) AS sendings", "sendings WHERE sent_us IS NOT NULL"),
        seconds.format("received_us", "count(*) AS received", "sendings WHERE received_us IS NOT NULL"),
        seconds.format("taken_us", "count(*) AS taken", "sendings WHERE taken_us IS NOT NULL"),
    ]
    wanted = "buffers, bytes::BIGINT, records::BIGINT, sendings, received, taken"
    joined = " FULL JOIN ".join(f"{scan}{' USING (channel, second)' * bool(n)}" for n, scan in enumerate(scans))
    found = job.rows(f"SELECT channel, second, {wanted} FROM seconds ORDER BY ALL")
    zeros = ", ".join(f"coalesce({one}, 0)::BIGINT" for one in wanted.replace("::BIGINT", "").split(", "))
    assert found == job.rows(f"SELECT channel, second, {zeros} FROM {joined} ORDER BY ALL")
    # A message is its header and the bytes of its deltas.
    assert job.rows("SELECT sum(delta_bytes) FROM seconds") == job.rows("SELECT sum(delta_bytes) FROM flows")
    sendings = job.rows("SELECT channel, attempt, sum(sendings)::BIGINT, sum(received)::BIGINT, sum(taken)::BIGINT "
                        "FROM flows GROUP BY ALL ORDER BY ALL")  # fmt: skip
    assert sendings == job.rows(
        "SELECT channel, attempt, count(*), count(received_us), count(taken_us) FROM sendings GROUP BY ALL ORDER BY ALL"
    )


@pytest.mark.parametrize("seed", (31, 32))
def test_epochs_have_sizes_and_times(seed: int, ingested: Ingested, tmp_path: Path):
    made = random_recording(seed)
    job, _ = ingested(made.pack(tmp_path))
    found = {tuple(row[:4]): row[4:] for row in job.rows("SELECT * FROM epochs")}
    for path, data in made.members.items():
        if not path.endswith(".det"):
            continue
        _, task, attempt, thread, epoch = path.removesuffix(".det").split("/")
        key = (task, int(attempt), thread, int(epoch))
        rows = [r for r in made.rows["determinants"] if (r["task"], r["attempt"], r["thread"], r["epoch"]) == key]
        assert found[key][:2] == (len(rows), len(data)), f"seed {seed}, {path}"
        if thread.startswith("out-"):
            channel = next(o["channel"] for t in made.manifest["tasks"] if t["id"] == task
                           for k, o in enumerate(t["outputs"]) if f"out-{k}" == thread)  # fmt: skip
            cuts = [b["cut_us"] for b in made.rows["buffers"]
                    if (b["channel"], b["attempt"], b["epoch"]) == (channel, key[1], key[3])]  # fmt: skip
            assert found[key][2:] == (min(cuts), max(cuts)), f"seed {seed}, {path}"


def test_a_log_and_epoch_is_found_in_its_file_alone(ingested: Ingested, tmp_path: Path):
    made = random_recording(41)
    job, _ = ingested(made.pack(tmp_path))
    for key in {(r["task"], r["attempt"], r["thread"], r["epoch"]) for r in made.rows["determinants"]}:
        where = dict(zip(("task", "attempt", "thread", "epoch"), key, strict=True))
        bound = " AND ".join(f"{name} = ${name}" for name in where)
        sql = f"SELECT seq FROM {job.log_source(*key)} WHERE {bound} ORDER BY seq"
        rows = job.rows(sql, where)
        wanted = [r for r in made.rows["determinants"] if all(r[k] == v for k, v in where.items())]
        assert [seq for (seq,) in rows] == list(range(len(wanted)))
        spans = job.log_index.spans(*key)
        assert sum(span.rows for span in spans) == len(wanted)
    assert job.rows(f"SELECT count(*) FROM {job.log_source('nobody.0', 0, 'main', 0)}") == [(0,)]


# --- the vectors ---


def without_place(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in ("task", "attempt", "thread")}


def test_every_determinant_vector_reaches_the_lake(ingested: Ingested, tmp_path: Path):
    members, expected = members_and_rows()
    job, result = ingested(packed(manifest_of(1), members, tmp_path))
    assert result.status == "ready", table(job, "rejects")
    assert [without_place(row) for row in table(job, "determinants")] == expected


def test_invalid_vectors_are_kept_up_to_their_fault(ingested: Ingested, tmp_path: Path):
    vectors = json.loads((VECTORS / "determinants_invalid.json").read_text())
    members = {f"tasks/map-1.0/0/main/{n}.det": bytes.fromhex(v["hex"]) for n, v in enumerate(vectors)}
    job, result = ingested(packed(manifest_of(1), members, tmp_path))
    assert (result.status, result.rejects) == ("ready-partial", len(vectors))
    for n, vector in enumerate(vectors):
        kept = job.rows("SELECT count(*) FROM determinants WHERE epoch = $n", {"n": n})[0][0]
        assert kept == len(vector["decoded_before_error"])
        path = f"tasks/map-1.0/0/main/{n}.det"
        ((offset, why),) = job.rows('SELECT "offset", why FROM rejects WHERE path = $path', {"path": path})
        assert offset == vector["error_at_offset"]
        assert ("unknown determinant tag 8" if vector["hex"] == "08" else "cut short") in why


def delta_message(number: int, epoch: int, offset: int, data: bytes) -> bytes:
    return struct.pack(">iqHBii", 23, epoch, number, 1, offset, len(data)) + data


def sending(seq: int, message: bytes) -> bytes:
    return struct.pack(">qqIIBi", seq, seq, 0, 0, 0, len(message)) + message


def test_bytes_left_with_the_outside_world_are_sendings_and_deltas(ingested: Ingested, tmp_path: Path):
    members = {
        "tasks/sink.0/0/world/0.dlt": sending(0, delta_message(2, 0, 0, b"abc")),
        # The world outlives the sink's attempts: the second one goes on where the first ended.
        "tasks/sink.0/1/world/0.dlt": sending(1, delta_message(2, 0, 3, b"de")),
    }
    job, result = ingested(packed(manifest_of(1), members, tmp_path))
    assert result.status == "ready", table(job, "rejects")
    assert job.rows("SELECT channel, attempt, seq FROM sendings") == [("sink.0>world", 0, 0), ("sink.0>world", 1, 1)]
    assert job.rows('SELECT task, thread, "offset", length FROM deltas') == [
        ("sink.0", "main", 0, 3),
        ("sink.0", "main", 3, 2),
    ]


def test_a_bundle_of_nothing_but_a_manifest_is_ready_and_empty(ingested: Ingested, tmp_path: Path):
    job, result = ingested(packed(manifest_of(1), {}, tmp_path))
    assert (result.status, result.rejects) == ("ready", 0)
    for name in LAKE_TABLES:
        assert job.rows(f"SELECT count(*) FROM {name}") == [(0,)]
        assert job.columns_and_rows(f"SELECT * FROM {name}")[0] == LAKE_TABLES[name].schema.names
