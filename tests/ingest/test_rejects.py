"""Faults inside members: what stands before the fault is kept, and a reject names file, offset and rule."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import Ingested
from tests.ingest.made import Made, manifest_of, packed, random_recording

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CHANNEL = "source.0>map-1.0"
SENT, RECEIVED = "tasks/source.0/0/sent-0", "tasks/map-1.0/0/received-0"
TIMESTAMP = b"\x01" + bytes(8)
RECORD = struct.pack(">i", 10) + b'["k",1,23]'
HEAD = 33


def buffer(seq: int, payload: bytes, flags: int = 0) -> bytes:
    return struct.pack(">qqBqii", seq, 10 + seq, flags, 0, 0, len(payload)) + payload


def sending(seq: int, message: bytes = b"") -> bytes:
    return struct.pack(">qqIIBi", seq, 10 + seq, 0, 0, 0, len(message)) + message


def receipt(seq: int) -> bytes:
    return struct.pack(">qIIqqqii", seq, 0, 0, 20 + seq, 30 + seq, 0, 0, 0)


def delta(offset: int, data: bytes, number: int = 0) -> bytes:
    return struct.pack(">iqHBii", 23, 0, number, 1, offset, len(data)) + data


def taken_in(members: dict[str, bytes], ingested: Ingested, folder: Path, **protocol: Any):
    job, result = ingested(packed(manifest_of(1, **protocol), members, folder))
    assert result.status == "ready-partial"
    found = job.rows('SELECT path, "offset", why FROM rejects ORDER BY path')
    assert result.rejects == len(found) == job.manifest.rejects
    return job, found


CUT = [
    # member, bytes, table, rows kept, offset of the fault, what the reason says
    ("tasks/map-1.0/0/main/0.det", TIMESTAMP * 3 + b"\x63", "determinants", 3, 27, "unknown determinant tag 99"),
    ("tasks/map-1.0/0/main/0.det", TIMESTAMP * 3 + TIMESTAMP[:5], "determinants", 3, 27, "cut short"),
    ("tasks/map-1.0/0/main/0.det", TIMESTAMP + b"\x03CL\x00\x7f\xff\xff\xff", "determinants", 1, 9, "2147483647 bytes"),
    ("tasks/map-1.0/0/main/0.det", TIMESTAMP + b"\x03CL\x00\xff\xff\xff\xff", "determinants", 1, 9, "negative"),
    ("tasks/map-1.0/0/main/0.det", TIMESTAMP + b"\x03\xac\xed\x00\x05\x99", "determinants", 1, 9, ""),
    (f"{SENT}/0.buf", buffer(0, RECORD) + buffer(1, RECORD)[:20], "buffers", 1, HEAD + 14, "cut short"),
    (f"{SENT}/0.buf", buffer(0, RECORD) + struct.pack(">qqBqii", 1, 1, 0, 0, 0, 2**31 - 1), "buffers", 1, 47, "claims"),
    (f"{SENT}/0.buf", buffer(0, RECORD) + struct.pack(">qqBqii", 1, 1, 0, 0, 0, -1), "buffers", 1, 47, "claims -1"),
    (f"{SENT}/0.buf", buffer(0, RECORD) + buffer(1, b"\xff\xff\xff\xff"), "buffers", 1, 47, "claims -1 bytes"),
    (f"{SENT}/0.buf", buffer(0, RECORD[:6]) + buffer(1, b'{"end":true}', 1), "buffers", 1, 39, "middle of a record"),
    (f"{SENT}/0.buf", buffer(0, RECORD) + buffer(1, b"{oh", 1), "buffers", 1, 47, "not JSON"),
    (f"{SENT}/0.dlt", sending(0) + sending(1)[:9], "sendings", 1, 29, "cut short"),
    (f"{SENT}/0.dlt", sending(0) + sending(1, delta(5, b"x")), "sendings", 1, 29, "the receiver holds 0"),
    (f"{SENT}/0.dlt", sending(0) + sending(1, delta(0, b"x", 77)), "sendings", 1, 70, "manifest does not give"),
    (f"{SENT}/0.dlt", sending(0) + sending(1, b"\x7f\xff\xff\xff" + bytes(8)), "sendings", 1, 58, "claims"),
    (f"{RECEIVED}/0.rcv", receipt(0) + receipt(1)[:11], "sendings", 1, 48, "cut short"),
    ("events.ndjson", b'{"n":0,"t_us":1,"type":"x"}\n{"n":', "events", 1, 28, "not JSON"),
    ("events.ndjson", b'{"n":0,"t_us":1,"type":"x"}\n[]\n', "events", 1, 28, "not an object"),
    ("events.ndjson", b'{"n":0,"t_us":1,"type":"x"}\n{"n":1,"t_us":1}\n', "events", 1, 28, "type is missing"),
    ("events.ndjson", b'{"n":0,"t_us":1,"type":"x"}\n{"n":1,"t_us":1e99}\n', "events", 1, 28, "64-bit"),
    ("events.ndjson", b'{"n":0,"t_us":1,"type":"x"}\n' + b"[" * 100_000, "events", 1, 28, "not JSON"),
    ("tasks/source.0/0/source/0.ndjson", b'{"offset":0}\n{"offset":"1"}\n', "sources", 1, 13, "64-bit"),
    ("tasks/source.0/0/source/0.ndjson", b'{"offset":0}\n{"offset":1,"record":[1]}\n', "sources", 1, 13, "record"),
    ("tasks/sink.0/0/sink/0.ndjson", b'{"n":0}\n{"n":9223372036854775808}\n', "sinks", 1, 8, "64-bit"),
    ("tasks/sink.0/0/sink/0.ndjson", b'{"n":0}\n{"n":1,"id":"\\ud800"}\n', "sinks", 1, 8, "not JSON"),
    (
        "events.ndjson",
        b'{"n":0,"t_us":1,"type":"x"}\n{"n":1,"t_us":1,"type":"x","y":' + b"[" * 3000 + b"]" * 3000 + b"}\n",
        "events",
        1,
        28,
        "",
    ),
    ("tasks/map-1.0/0/sites.ndjson", b'{"site":1}\n\xff\xfe\n', "sites", 1, 11, "not JSON"),
]


@pytest.mark.parametrize(("path", "member", "table", "kept", "offset", "why"), CUT, ids=range(len(CUT)))
def test_a_member_is_kept_up_to_its_fault(
    path: str, member: bytes, table: str, kept: int, offset: int, why: str, ingested: Ingested, tmp_path: Path
):
    members = {path: member, "tasks/map-1.0/0/out-0/7.det": b"\x07\x00\x00\x00\x05"}
    job, found = taken_in(members, ingested, tmp_path)
    ((reject_path, reject_offset, reason),) = found
    assert (reject_path, reject_offset) == (path, offset)
    assert why in reason
    untouched = "AND thread = 'main'" if table == "determinants" else ""
    assert job.rows(f"SELECT count(*) FROM {table} WHERE true {untouched}") == [(kept,)]
    assert job.rows("SELECT buffer_bytes FROM determinants WHERE epoch = 7") == [(5,)]


def test_nothing_of_a_delta_message_with_a_gap_is_kept(ingested: Ingested, tmp_path: Path):
    good, gap = delta(0, b"abc"), delta(0, b"abcdef") + struct.pack(">iqHBii", 23, 1, 0, 1, 4, 1) + b"x"
    job, found = taken_in({f"{SENT}/0.dlt": sending(0, good) + sending(1, gap)}, ingested, tmp_path)
    assert "epoch 1 begins at byte 4, and the receiver holds 0" in found[0][2]
    assert job.rows("SELECT seq, length FROM deltas") == [(0, 3)]


def test_members_of_unknown_tasks_and_channels_are_left_out_and_counted(ingested: Ingested, tmp_path: Path):
    members = {f"tasks/ghost.0/0/main/{n}.det": TIMESTAMP for n in range(3)}
    members |= {"tasks/map-1.0/0/sent-9/0.buf": buffer(0, RECORD), "tasks/map-1.0/0/main/0.det": TIMESTAMP}
    job, found = taken_in(members, ingested, tmp_path)
    assert [row[0] for row in found] == ["tasks/ghost.0/0/main/0.det", "tasks/map-1.0/0/sent-9/0.buf"]
    assert "no task ghost.0" in found[0][2]
    assert "2 more members" in found[0][2]
    assert "no output channel 9" in found[1][2]
    assert job.rows("SELECT task FROM determinants") == [("map-1.0",)]
    assert job.rows("SELECT count(*) FROM buffers") == [(0,)]


@pytest.mark.parametrize(
    "path",
    [
        f"tasks/map-1.0/0/main/{1 << 63}.det",
        f"tasks/map-1.0/{1 << 32}/main/0.det",
        "tasks/map-1.0/0/sent-0/007.buf",
        "tasks/map-1.0/0/out-x/0.det",
    ],
)
def test_members_whose_numbers_cannot_be_read_are_left_out_and_told(path: str, ingested: Ingested, tmp_path: Path):
    job, found = taken_in({path: TIMESTAMP, "tasks/map-1.0/0/main/0.det": TIMESTAMP}, ingested, tmp_path)
    assert [row[0] for row in found] == [path]
    assert "holds a number that is not plain decimal, or too large" in found[0][2]
    assert job.rows("SELECT attempt, epoch FROM determinants") == [(0, 0)]


def test_buffers_and_their_determinants_that_disagree_are_both_kept(ingested: Ingested, tmp_path: Path):
    built = b"".join(b"\x07" + struct.pack(">i", size) for size in (14, 15, 14))
    buffers = buffer(0, RECORD) + buffer(1, RECORD)
    job, found = taken_in({f"{SENT}/0.buf": buffers, "tasks/source.0/0/out-0/0.det": built}, ingested, tmp_path)
    by_offset = {offset: why for path, offset, why in found if path == f"{SENT}/0.buf"}
    assert "buffer 1 has 14 bytes, and buffer-built 1 of tasks/source.0/0/out-0/0.det says 15" in by_offset[HEAD + 14]
    assert "holds 2 buffers, and tasks/source.0/0/out-0/0.det names 3" in by_offset[None]
    assert job.rows("SELECT count(*), sum(records)::INT FROM buffers") == [(2, 2)]
    assert job.rows("SELECT count(*) FROM determinants") == [(3,)]


def test_buffers_whose_numbers_do_not_go_up_are_kept(ingested: Ingested, tmp_path: Path):
    members = {f"{SENT}/0.buf": buffer(3, RECORD), f"{SENT}/1.buf": buffer(4, RECORD) * 4}
    job, found = taken_in(members, ingested, tmp_path)
    ((path, offset, why),) = found
    assert (path, offset) == (f"{SENT}/1.buf", HEAD + 14)
    assert "buffer 4 follows buffer 4" in why
    assert why.endswith("So it is with 2 more.")
    assert job.rows("SELECT seq FROM buffers") == [(3,), (4,), (4,), (4,), (4,)]


def test_receipts_without_a_sending_and_second_receipts(ingested: Ingested, tmp_path: Path):
    members = {f"{SENT}/0.dlt": sending(0), f"{RECEIVED}/0.rcv": receipt(0) + receipt(5) + receipt(0) * 3}
    job, found = taken_in(members, ingested, tmp_path)
    assert [(row[0], row[1]) for row in found] == [(f"{RECEIVED}/0.rcv", 96)]
    assert "received before" in found[0][2]
    assert found[0][2].endswith("So it is with 2 more.")
    rows = job.rows("SELECT channel, seq, sent_us, received_us, taken_us FROM sendings")
    assert rows == [(CHANNEL, 0, 10, 20, 30), (CHANNEL, 5, None, 25, 35)]


def test_events_whose_numbers_have_a_gap_are_kept(ingested: Ingested, tmp_path: Path):
    lines = [{"n": n, "t_us": n, "type": "x"} for n in (0, 1, 3, 4)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    job, found = taken_in({"events.ndjson": data}, ingested, tmp_path)
    assert "3 stands where 2 is due" in found[0][2]
    assert job.rows("SELECT n FROM events") == [(0,), (1,), (3,), (4,)]


def damaged_at_random(made: Made, draw: Callable[[int], int]) -> dict[str, bytes]:
    """One byte of one member flipped, or the member cut."""
    members = dict(made.members)
    path = sorted(p for p, data in members.items() if data)[draw(len([d for d in members.values() if d]))]
    data = bytearray(members[path])
    at = draw(len(data))
    if draw(2):
        data[at] ^= 1 << draw(8)
        members[path] = bytes(data)
    else:
        members[path] = bytes(data[:at])
    return members


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_damaged_the_ingest_ends_well(seed: int, ingested: Ingested, tmp_path: Path):
    import random

    rng = random.Random(seed)
    made = random_recording(seed, parallelism=1)
    job, result = ingested(packed(made.manifest, damaged_at_random(made, rng.randrange), tmp_path))
    assert result.status in ("ready", "ready-partial"), f"seed {seed}"
    for path, _, why in job.rows("SELECT * FROM rejects"):
        assert path in made.members, f"seed {seed}"
        assert why.endswith("."), f"seed {seed}"
