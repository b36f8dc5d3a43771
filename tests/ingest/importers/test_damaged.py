"""Damaged and hostile checkpoints are refused whole, by one sentence that names the file and the rule."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest.importers.checkpoints import copied, imported

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark-checkpoints")]

DELTA = "state/0/0/1.delta"
BOMB = struct.pack("<8sBiiI", b"LZ4Block", 0x20, 10, 0x7FFFFFF0, 0) + bytes(10)


def put(name: str, data: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return write


def cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda folder: put(name, (folder / name).read_bytes()[:size])(folder)


def flip(name: str) -> Callable[[Path], None]:
    """A byte is another one, and the checksum beside the file still there."""

    def write(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 0x20
        (folder / name).write_bytes(data)

    return write


FAULTS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "offsets of no version": (put("offsets/1", b"{}"), "offsets/1", "must be its version"),
    "offsets behind a zero byte": (put("offsets/1", b"\0v1\n{}\n{}"), "offsets/1", "must be its version"),
    "offsets of a later version": (put("offsets/1", b"v9\n{}\n{}"), "offsets/1", "v1 is read"),
    "offsets cut behind the version": (put("offsets/1", b"v1\n"), "offsets/1", "the batch's own line is missing"),
    "offsets without a source": (put("offsets/1", b"v1\n{}\n"), "offsets/1", "an offset of each source"),
    "offsets that are not JSON": (put("offsets/1", b"v1\n{}\n{oops"), "offsets/1", "a source's offset is not JSON"),
    "offsets that are not UTF-8": (put("offsets/1", b"v1\n\xff"), "offsets/1", "not UTF-8"),
    "a clock that is a text": (put("offsets/1", b'v1\n{"batchTimestampMs":"x"}\n0'), "offsets/1", "a whole number"),
    "a nest too deep": (put("offsets/1", b"v1\n{}\n" + b"[" * 100_000), "offsets/1", "is not JSON"),
    "a commit that is a list": (put("commits/0", b"v1\n[]"), "commits/0", "must be a JSON object"),
    "a commit of what nobody planned": (put("commits/77", b"v1\n{}"), "commits/77", "there is no offsets/77"),
    "no id": (put("metadata", b"{}"), "metadata", "the query's id is missing"),
    "a flipped byte in offsets": (flip("offsets/0"), "offsets/0", "not those of the checksum"),
    "a flipped byte in the state": (flip(DELTA), DELTA, "not those of the checksum"),
    "a state that is cut short": (cut(DELTA, 12), DELTA, "the LZ4 stream is cut short"),
    "a state without its end": (cut(DELTA, -21), DELTA, "no end mark"),
    "a state that is none": (put(DELTA, b"PK\x03\x04" * 20), DELTA, "an LZ4 block must begin"),
    "a bomb": (put(DELTA, BOMB), DELTA, "a size that cannot be"),
    "a schema that is cut short": (cut("state/0/0/_metadata/schema", 40), "state/0/0/_metadata/schema", "cut short"),
    "too many partitions": (
        put("state/0/_metadata/metadata", b'v1\n{"operatorInfo":{},"stateStoreInfo":[{"numPartitions":99999999}]}'),
        "state/0/_metadata/metadata",
        "between 1 and 65535",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_damage_is_told_in_one_sentence(fault: str, hdfs: Path, tmp_path: Path) -> None:
    spoil, name, rule = FAULTS[fault]
    spoil(copied(hdfs / "killed", tmp_path / "checkpoint"))
    refused = imported(tmp_path / "checkpoint", tmp_path / "bundle")["refused"]
    assert refused["path"] == name and rule in refused["why"] and refused["remedy"], refused
    assert not (tmp_path / "bundle").exists()


def test_what_a_kill_left_of_a_file_that_was_being_written_is_passed_over(hdfs: Path, tmp_path: Path) -> None:
    whole = imported(copied(hdfs / "killed", tmp_path / "whole"), tmp_path / "whole-bundle")
    folder = copied(hdfs / "killed", tmp_path / "checkpoint")
    put("state/0/0/.3.snapshot.1dd05b6f.tmp", b"")(folder)
    put("state/0/0/..3.snapshot.1dd05b6f.tmp.crc", b"")(folder)
    put("state/0/1/.2.delta.7c1d5b6f.tmp", b"LZ4Bl")(folder)
    assert imported(folder, tmp_path / "bundle") == whole


@pytest.mark.parametrize("seed", range(24))
def test_random_damage_is_refused_or_read_and_never_breaks_the_importer(seed: int, hdfs: Path, tmp_path: Path) -> None:
    """Without the checksums, so that the readers themselves are met. A child that died would raise."""
    rng = random.Random(seed)
    folder = copied(hdfs / "killed", tmp_path / "checkpoint")
    for checksum in folder.rglob(".*.crc"):
        checksum.unlink()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice([one for one in files if one.stat().st_size])
    data = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data[: rng.randrange(1, len(data) + 1)] if rng.random() < 0.3 else data)
    answer = imported(folder, tmp_path / "bundle")
    assert answer.get("kind") == "spark-checkpoint" or answer["refused"]["path"], f"seed {seed}: {path}: {answer}"
