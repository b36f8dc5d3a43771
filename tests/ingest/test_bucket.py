"""A lake in a bucket, behind a real server that speaks S3: whole or not there, and asked as one in a folder is."""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from itertools import count
from pathlib import Path

import pytest

from bench.without_spark import ingest_here
from ingest.lake import packs
from ingest.lake.askable import Asked
from ingest.lake.errors import LakeOutOfReach, NotPublished
from ingest.lake.manifest import LakeManifest
from ingest.lake.packs import open_pack
from ingest.lake.places import InBucket, bucket_files, names_in, place_of, put, size_of
from ingest.lake.publish import discard, job_link, publish, published_folder, unpublish, version_folder
from ingest.lake.readers import Lake
from ingest.lake.schema import LAKE_TABLES
from ingest.launch import ReplayLimits, run_question
from replay.bundle.pack import Pack
from replay.errors import BundleError
from tests.ingest.inprocess import ingested_here, rows_of
from tests.ingest.made import random_recording
from tests.services.processes import free_port
from tests.services.s3 import BUCKET

ROOT = Path(__file__).resolve().parents[2]
LIMITS = ReplayLimits(3 << 29, 4 << 20, open_files=128, cpu_s=30, wall_s=60, chosen=False)
_numbers = count()


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_recording(11, parallelism=3).pack(tmp_path_factory.mktemp("made"))


@pytest.fixture
def root(bucket: None) -> InBucket:
    """A prefix of this test's own."""
    place = place_of(f"s3://{BUCKET}/of/test-{next(_numbers)}/")
    assert isinstance(place, InBucket)
    return place


def staged(root: InBucket, pack: Path, attempt: int = 0) -> InBucket:
    version = version_folder(root, "j_1", "w", attempt)
    ingest_here("j_1", pack, version)
    assert isinstance(version, InBucket)
    return version


def test_every_table_in_a_bucket_has_the_rows_of_one_in_a_folder(root: InBucket, pack: Path, tmp_path: Path):
    here, told = ingested_here(pack, tmp_path)
    publish(root, staged(root, pack), "j_1", "w", 0)
    there = Lake(str(root)).job("j_1")
    assert there.facts == here.facts == told["facts"]
    for table in LAKE_TABLES:
        assert rows_of(there, table) == rows_of(here, table), table
    log = here.rows("SELECT task, attempt, thread, epoch FROM counts LIMIT 1")[0]
    asked = "SELECT count(*), min(seq), max(seq) FROM {}"
    assert there.rows(asked.format(there.log_source(*log))) == here.rows(asked.format(here.log_source(*log)))


def test_a_pack_in_a_bucket_is_read_by_ranges_as_a_file_is(root: InBucket, pack: Path, monkeypatch):
    put(root / "j_1.pack", pack.read_bytes())
    monkeypatch.setattr(packs, "BLOCK_BYTES", 1000)
    with closing(Pack(pack)) as here, closing(open_pack(root / "j_1.pack")) as there:
        assert list(there.extents()) == list(here.extents()) and there.content_id == here.content_id
        assert len(there) > 20 and there.unpacked_bytes == here.unpacked_bytes > 2 * packs.BLOCK_BYTES
        for name in here.names():
            with there.open(name) as stream:
                assert stream.read() == there.read(name) == here.read(name), name
        assert there.changed() is None and there.whole_content_id() == there.content_id


def test_a_pack_that_was_changed_names_the_member_and_one_cut_short_is_damaged(root: InBucket, pack: Path):
    whole = bytearray(pack.read_bytes())
    with closing(Pack(pack)) as here:
        name, offset, _ = next(one for one in here.extents() if one[0].endswith(".det") and one[2])
    whole[offset] ^= 1
    put(root / "changed.pack", bytes(whole))
    put(root / "cut.pack", bytes(whole[:-1]))
    with closing(open_pack(root / "changed.pack")) as there:
        assert there.changed() == name
    with pytest.raises(BundleError, match="damaged"):
        open_pack(root / "cut.pack")
    with pytest.raises(FileNotFoundError):
        open_pack(root / "none.pack")


def test_the_tables_of_a_pack_in_a_bucket_are_those_of_a_file(root: InBucket, pack: Path, tmp_path: Path):
    put(root / "j_1.pack", pack.read_bytes())
    here, _ = ingested_here(pack, tmp_path)
    version = version_folder(root, "j_1", "w", 0)
    ingest_here("j_1", root / "j_1.pack", version)
    publish(root, version, "j_1", "w", 0)
    there = Lake(root).job("j_1")
    assert all(rows_of(there, table) == rows_of(here, table) for table in LAKE_TABLES)


def test_a_version_is_seen_when_its_pointer_is_put_and_refused_before_it_is_whole(root: InBucket, pack: Path):
    version, lake = staged(root, pack), Lake(root)
    assert not lake.is_published("j_1")
    (version / "manifest.json").unlink()
    with pytest.raises(NotPublished, match="no manifest"):
        publish(root, version, "j_1", "w", 0)
    assert not lake.is_published("j_1")
    publish(root, staged(root, pack, 1), "j_1", "w", 1)
    assert published_folder(root, "j_1").name == "j_1.w-1" and lake.job("j_1").facts["tasks"]
    assert names_in(version.parent) == ["j_1.w-1"]


def test_publishing_twice_is_publishing_once_and_what_is_published_is_not_discarded(root: InBucket, pack: Path):
    version, stale = staged(root, pack), staged(root, pack, 1)
    for _ in range(2):
        publish(root, version, "j_1", "w", 0)
    assert size_of(stale / "manifest.json") is None
    stale = staged(root, pack, 1)
    for place in (version, stale):
        discard(root, place, "j_1")
    assert names_in(version.parent) == [version.name]
    assert size_of(version / "manifest.json") and size_of(stale / "manifest.json") is None


def test_who_has_a_version_open_that_is_replaced_asks_the_next_and_of_one_that_is_gone_is_told(
    root: InBucket, pack: Path
):
    publish(root, staged(root, pack), "j_1", "w", 0)
    lake = Lake(root)
    opened = lake.job("j_1")
    before = opened.rows("SELECT count(*) FROM events")
    publish(root, staged(root, pack, 1), "j_1", "w", 1)
    assert opened.rows("SELECT count(*) FROM events") == before
    assert opened.rows("SELECT count(*) FROM buffers") == lake.job("j_1").rows("SELECT count(*) FROM buffers")
    unpublish(root, "j_1")
    assert names_in(root / "lake" / ".versions") == [] and not lake.is_published("j_1")
    with pytest.raises(NotPublished):
        opened.rows("SELECT count(*) FROM sendings WHERE bytes > 1")


@pytest.mark.parametrize("words", ["", "elsewhere/j_1.w-0", ".versions/j_2.w-0", ".versions/../j_1.w-0/x", "\udcff"])
def test_a_pointer_that_names_no_version_of_its_job_is_not_followed(root: InBucket, words: str):
    put(job_link(root, "j_1"), words.encode("utf-8", "surrogateescape"))
    with pytest.raises(NotPublished):
        published_folder(root, "j_1")


def test_a_question_in_sql_is_answered_from_a_bucket_and_opens_nothing_else(root: InBucket, pack: Path, tmp_path: Path):
    publish(root, staged(root, pack), "j_1", "w", 0)
    files = tuple(map(str, Lake(root).table_files("j_1", "epochs")))
    table = asdict(Asked("", "epochs", files))
    request = {"sealed": False, "tables": [table], "which": {"limit": 3}}
    told = run_question({"sql": "SELECT count(*) > 0 FROM epochs"} | request, LIMITS, tmp_path / "log")
    assert told["page"]["rows"] == [[True]]
    told = run_question({"sql": f"FROM read_parquet('{files[0]}')"} | request, LIMITS, tmp_path / "log")
    assert "no files" in told["refused"]


def test_a_server_that_is_away_is_not_taken_for_an_empty_lake(root: InBucket):
    """In a process of its own: a process asks one server for its life."""
    ask = f"from ingest.lake.readers import Lake; Lake({str(root)!r}).is_published('j_1')"
    environment = {**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    ran = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 1 and LakeOutOfReach.__name__ in ran.stderr.splitlines()[-1], ran.stderr


def test_an_upload_that_is_broken_off_leaves_nothing_to_be_seen(root: InBucket):
    stream = bucket_files().open_output_stream((root / "half").key)
    stream.write(b"x" * (6 << 20))
    assert size_of(root / "half") is None and names_in(root) == []
    stream.close()
    assert size_of(root / "half") == 6 << 20


def test_a_manifest_of_a_version_is_read_from_where_it_lies(root: InBucket, pack: Path):
    version = staged(root, pack)
    manifest = LakeManifest.read(version)
    assert all(size_of(version / file.path) == file.bytes for file in (*manifest.files, *manifest.log_index))
