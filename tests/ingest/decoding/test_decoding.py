"""The columnar decoder says what the codec says, whatever the sizes of logs, windows and parts."""

import random
import struct
from pathlib import Path

import pytest

from ingest.transforms.decoding import windows
from ingest.transforms.decoding.columns import buffer_sizes
from ingest.transforms.decoding.windows import Scan, cuts_of
from tests.ingest.decoding.decoded import by_column, by_the_codec, check, golden, pieces_of, random_log
from tests.ingest.inprocess import ingested_here, rows_of
from tests.ingest.made import manifest_of, packed, random_determinant


@pytest.fixture(autouse=True)
def _sizes_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WINDOW_BYTES", "SLICE_ROWS", "MOST_BYTES"):
        monkeypatch.setattr(windows, name, getattr(windows, name))


@pytest.mark.parametrize("seed", range(60))
def test_columns_are_what_the_codec_decodes(seed: int):
    check(seed)


def test_every_golden_determinant_at_every_place_of_a_window():
    for width in (20, 33, 64):
        windows.WINDOW_BYTES = width
        logs = [b"\0\1" * shift + b"".join(golden()) for shift in range(3)]
        rows, faults = by_column(pieces_of(logs), b"".join(logs))
        assert (rows, faults) == ({n: by_the_codec(data)[0] for n, data in enumerate(logs)}, {})


def test_a_determinant_that_no_memory_should_hold_ends_its_log_alone():
    windows.WINDOW_BYTES, windows.MOST_BYTES = 64, 256
    large = b"\x03CL\x00" + struct.pack(">i", 400) + bytes(400)
    logs = [b"\0\1" * 50 + large + b"\0\2", b"\0\3" * 40]
    rows, faults = by_column(pieces_of(logs), b"".join(logs))
    assert [len(rows[0]), len(rows[1])] == [50, 40]
    assert list(faults) == [0] and faults[0] is not None
    assert faults[0][0] == 100 and "longer than" in faults[0][1]


def test_no_more_than_a_window_is_in_memory_at_once():
    logs = [b"\0\1" * 500_000]
    asked: list[int] = []
    windows.WINDOW_BYTES = 10_000

    def read(at: int, size: int) -> bytes:
        asked.append(size)
        return logs[0][at : at + size]

    assert sum(map(len, Scan(pieces_of(logs), read).slices())) == 500_000
    assert max(asked) <= 10_000


@pytest.mark.parametrize("seed", range(4))
def test_a_log_is_cut_into_ranges_of_equal_size_that_begin_with_a_determinant(seed: int):
    rng = random.Random(seed)
    windows.SLICE_ROWS = 50
    data = b"".join(random_determinant(rng)[0] for _ in range(1_500))
    whole, _ = by_the_codec(data)
    starts = {row["offset"]: row["seq"] for row in whole}
    cuts = cuts_of(pieces_of([data]), lambda at, size: data[at : at + size], 2_000)
    assert len(cuts) >= 1 and all(starts[at] == seq for at, seq in cuts), f"seed {seed}"


def test_a_log_that_many_parts_read_is_one_log(tmp_path: Path):
    """One huge log and many tiny ones: the tables are those of one part, and so is what is counted."""
    rng = random.Random(7)
    windows.SLICE_ROWS = 100
    huge = b"".join(random_determinant(rng)[0] for _ in range(3_000))
    logs = {f"tasks/map-1.0/0/main/{n}.det": random_log(rng, [b"\0\1"]) for n in range(30)}
    logs["tasks/map-1.0/0/main/30.det"] = huge + b"\x63"
    logs["tasks/sink.0/0/main/0.det"] = b""
    pack = packed(manifest_of(1), logs, tmp_path)
    one, whole = ingested_here(pack, tmp_path / "one")
    many, parted = ingested_here(pack, tmp_path / "many", part_bytes=2_000)
    assert whole["parts"] == 1 and parted["parts"] > 10
    for name in ("determinants", "epochs", "counts"):
        assert rows_of(many, name) == rows_of(one, name), name
    assert sorted(map(repr, rows_of(many, "rejects"))) == sorted(map(repr, rows_of(one, "rejects")))
    for name in ("counts", "log-index"):
        assert len(list((many.folder / name).iterdir())) == 1, "what all parts wrote is one file"
    for *key, count, size in one.rows("SELECT task, attempt, thread, epoch, determinants, bytes FROM epochs"):
        spans = many.log_index.spans(*key)
        assert (sum(span.rows for span in spans), sum(span.bytes for span in spans)) == (count, size)
        ends = [span.offset + span.bytes for span in spans]
        assert [span.offset for span in spans] == ([0, *ends][: len(spans)])
    assert len(many.log_index.paths("map-1.0", 0, "main", 30)) > 1


def test_sizes_of_buffers_up_to_the_fault_and_whether_there_is_one():
    built = b"".join(b"\x07" + struct.pack(">i", size) for size in (1, 70_000, 0))
    assert buffer_sizes(built) == ([1, 70_000, 0], True)
    assert buffer_sizes(built + b"\x63") == ([1, 70_000, 0], False)
    assert buffer_sizes(b"") == ([], True)
