"""Taking over a folder that is recorded into: what is there as a whole, what may not be, and packs that grow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from replay.bundle.growing_folder import GrowingFolder
from replay.bundle.growing_pack import GrowingPack
from replay.bundle.limits import Limits
from replay.bundle.pack import Pack
from replay.bundle.reader import open_bundle
from replay.errors import BundleError
from replay.log.codec import encode
from replay.log.determinants import Order, Timestamp
from tests.ingest.made import manifest_of

LOG = "tasks/source.0/0/main/0.det"
FIRST, SECOND = encode(Timestamp(7)), encode(Order(1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "growing" / LOG).parent.mkdir(parents=True)
    (tmp_path / "growing/job.json").write_text(json.dumps(manifest_of() | {"complete": False}))
    (tmp_path / "growing" / LOG).write_bytes(FIRST)
    return tmp_path / "growing"


@pytest.fixture
def pack(tmp_path: Path) -> Iterator[GrowingPack]:
    with closing(GrowingPack(tmp_path / "j.pack")) as made:
        yield made


def write(path: Path, data: bytes, at_ns: int) -> None:
    """With a time of its own: two writes may fall into one tick of the file system's clock."""
    path.write_bytes(data)
    os.utime(path, ns=(at_ns, at_ns))


def test_a_record_is_there_when_its_last_byte_is(folder: Path, pack: GrowingPack) -> None:
    growing = GrowingFolder(folder, pack, Limits())
    for length in range(len(FIRST), len(FIRST + SECOND) + 1):
        write(folder / LOG, (FIRST + SECOND)[:length], length)
        assert growing.look()
        whole = FIRST + SECOND if length == len(FIRST + SECOND) else FIRST
        assert pack.read(LOG, 0, 99) == whole
    assert not growing.look()
    write(folder / LOG, FIRST + SECOND + FIRST[:3], 99)
    growing.look()
    growing.settle()
    assert pack.read(LOG, 0, 99) == FIRST + SECOND + FIRST[:3]


@pytest.mark.parametrize(
    ("now", "offset", "why"),
    [
        (FIRST[:4], 4, "had 9 bytes and has 4"),
        (FIRST[:3] + b"?" + FIRST[4:] + SECOND, 3, "other bytes"),
        (FIRST[:5] + b"?" + FIRST[6:], 5, "other bytes"),
        (None, None, "is gone"),
    ],
)
def test_what_is_not_appended_to_is_refused_with_its_place(
    folder: Path, pack: GrowingPack, now: bytes | None, offset: int | None, why: str
) -> None:
    growing = GrowingFolder(folder, pack, Limits())
    growing.look()
    if now is None:
        (folder / LOG).unlink()
    else:
        write(folder / LOG, now, 1)
    with pytest.raises(BundleError, match=why) as refused:
        growing.look()
    assert (refused.value.path, refused.value.offset) == (LOG, offset)
    assert "delete the job" in str(refused.value)


def test_who_goes_on_compares_all_that_was_taken(folder: Path, pack: GrowingPack) -> None:
    GrowingFolder(folder, pack, Limits()).look()
    pack.publish()
    write(folder / LOG, b"?" + FIRST[1:] + SECOND, 1)
    with closing(GrowingPack(pack.path)) as again, pytest.raises(BundleError, match="other bytes") as refused:
        GrowingFolder(folder, again, Limits()).look()
    assert refused.value.offset == 0


def test_a_manifest_that_is_half_written_is_as_before(folder: Path, pack: GrowingPack) -> None:
    growing = GrowingFolder(folder, pack, Limits())
    growing.look()
    whole = json.dumps(manifest_of()).encode()
    write(folder / "job.json", whole[:50], 1)
    growing.look()
    assert not growing.complete
    write(folder / "job.json", whole, 2)
    growing.look()
    assert growing.complete and pack.read("job.json", 0, 1 << 20) == whole


def test_files_under_names_of_a_moment_may_come_and_go(folder: Path, pack: GrowingPack) -> None:
    growing = GrowingFolder(folder, pack, Limits())
    (folder / "events.ndjson.tmp").write_text("x")
    growing.look()
    assert "events.ndjson.tmp" in pack
    (folder / "events.ndjson.tmp").unlink()
    growing.look()
    assert "events.ndjson.tmp" not in pack


def test_a_reader_of_a_growing_pack_reads_on_what_it_opened(folder: Path, pack: GrowingPack) -> None:
    growing = GrowingFolder(folder, pack, Limits())
    growing.look()
    pack.publish()
    with closing(Pack(pack.path)) as before:
        for times in range(2, 30):
            write(folder / LOG, FIRST * times, times)
            growing.look()
            told = pack.publish()
            assert before.read(LOG) == FIRST
            with closing(Pack(pack.path)) as now, open_bundle(pack.path) as bundle:
                assert now.read(LOG) == FIRST * times
                assert now.unpacked_bytes == told.bytes
                assert now.content_id == told.content_id == bundle.content_id()


def test_what_was_not_published_is_lost_with_its_writer(folder: Path, pack: GrowingPack) -> None:
    growing = GrowingFolder(folder, pack, Limits())
    growing.look()
    told = pack.publish()
    pack.append(LOG, SECOND)
    with closing(GrowingPack(pack.path)) as again:
        assert again.read(LOG, 0, 99) == FIRST
        assert again.publish() == told
        again.append(LOG, SECOND)
        again.publish()
    with closing(Pack(pack.path)) as now:
        assert now.read(LOG) == FIRST + SECOND
