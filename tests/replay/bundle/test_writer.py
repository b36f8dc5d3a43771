"""Writing bundles: the same bytes for the same job, whole or not at all."""

import gc
import hashlib
import os
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from replay.bundle.limits import Limits
from replay.bundle.reader import open_bundle
from replay.bundle.writer import BundleWriter
from replay.errors import BundleError, InvariantError, ReplayError
from tests.replay.bundle.made import MANIFEST, members

SUFFIXES = ("", ".zip", ".tar", ".tar.gz", ".tar.zst")


def write(out, content, manifest=MANIFEST):
    with BundleWriter(out) as writer:
        for name, data in content.items():
            if name != "job.json":
                writer.append(name, data)
        return writer.close(manifest)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_written_is_read_back(tmp_path, suffix):
    with open_bundle(write(tmp_path / f"b{suffix}", members())) as bundle:
        assert {name: bundle.members.read(name) for name in bundle.members.names()} == members()
        assert bundle.manifest.to_json() == MANIFEST.to_json()
    assert [one.name for one in tmp_path.iterdir()] == [f"b{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_the_same_members_give_the_same_bytes_whatever_their_order(tmp_path, suffix):
    forwards = write(tmp_path / f"a{suffix}", members())
    backwards = write(tmp_path / f"b{suffix}", dict(reversed(members().items())))
    os.utime(forwards, (0, 0))
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (forwards, backwards)}
    assert len(digests) == 1


def test_other_programs_read_the_archives(tmp_path):
    with zipfile.ZipFile(write(tmp_path / "b.zip", members())) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == members()
    for suffix in (".tar", ".tar.gz"):
        with tarfile.open(write(tmp_path / f"b{suffix}", members())) as archive:
            assert {one.name: archive.extractfile(one).read() for one in archive} == members()


def test_a_member_grows_with_its_appends_in_any_order(tmp_path):
    with BundleWriter(tmp_path / "b") as writer:
        for i in range(100):
            writer.append(f"notes/{i % 7}", bytes([i]) * (1 << 20))
        writer.append("notes/empty", b"")
        writer.close(MANIFEST)
    with open_bundle(tmp_path / "b") as bundle:
        assert bundle.members.read("notes/empty") == b""
        for k in range(7):
            assert bundle.members.read(f"notes/{k}") == b"".join(bytes([i]) * (1 << 20) for i in range(k, 100, 7))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_published_before_the_close_and_nothing_left_after_a_fault(tmp_path, suffix):
    with pytest.raises(ZeroDivisionError), BundleWriter(tmp_path / f"b{suffix}") as writer:
        writer.append("events.ndjson", bytes(64 << 20))
        assert not (tmp_path / f"b{suffix}").exists()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_an_existing_recording_is_not_overwritten(tmp_path):
    for suffix in SUFFIXES:
        out = write(tmp_path / f"b{suffix}", members())
        with pytest.raises(ReplayError, match="there is something already"):
            BundleWriter(out)
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", members())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ReplayError, match="its folder does not exist"):
        BundleWriter(tmp_path / "no" / "b.zip")


def test_a_name_that_could_not_be_read_again_is_not_written(tmp_path):
    with BundleWriter(tmp_path / "b") as writer:
        writer.append("a/b", b"")
        for name in ("/x", "../x", "a\\b", "a//b", "", "\ud800", "a", "a/b/c"):
            with pytest.raises(InvariantError, match="cannot be a member"):
                writer.append(name, b"")


def flushing_often(path, monkeypatch, **limits):
    monkeypatch.setattr("replay.bundle.writer._HELD_BYTES", 1000)
    return BundleWriter(path, Limits(**limits))


def test_what_was_written_long_ago_is_no_folder_and_no_second_file(tmp_path, monkeypatch):
    with flushing_often(tmp_path / "b", monkeypatch) as writer:
        for name in ("a/b", "c"):
            writer.append(name, bytes(2000))
        for name in ("a", "a/b/c", "c/d/e"):
            with pytest.raises(InvariantError, match="cannot be a member"):
                writer.append(name, b"")
        writer.append("a/b", b"more")


def test_one_member_too_many_is_refused_however_long_ago_the_others_were_written(tmp_path, monkeypatch):
    with flushing_often(tmp_path / "b", monkeypatch, max_members=3) as writer:
        for _ in range(2):
            for name in ("a", "b", "c"):
                writer.append(name, bytes(2000))
        with pytest.raises(BundleError, match="one member more than the 3"):
            writer.append("d", bytes(2000))
    assert list(tmp_path.iterdir()) == []


def held_here() -> int:
    """What the writer and the names it was given hold; other threads of this process are none of its business."""
    here = [tracemalloc.Filter(True, file) for file in (__file__, f"*{os.sep}replay{os.sep}bundle{os.sep}*")]
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(here).traces)


def test_members_that_are_written_take_no_more_memory(tmp_path, monkeypatch):
    with flushing_often(tmp_path / "b", monkeypatch) as writer:
        tracemalloc.start()
        try:
            held = []
            for n in range(6000):
                writer.append(f"notes/{n % 10}/a-member-of-a-long-recording-{n}", b"x" * 30)
                if n in (1999, 5999):
                    gc.collect()
                    held.append(held_here())
        finally:
            tracemalloc.stop()
    assert held[1] - held[0] < 40_000, "4,000 names alone have 150,000 bytes"


FULL_DISK = """
import os, resource, signal, sys
from replay.bundle.writer import BundleWriter
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.errors import ReplayError
from tests.replay.bundle.made import MANIFEST
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    if sys.argv[1] == "write":
        with BundleWriter(sys.argv[2]) as writer:
            writer.append("events.ndjson", os.urandom(4 << 20))
            writer.close(MANIFEST)
    else:
        with open_container(sys.argv[1]) as container:
            write_pack(container, sys.argv[2])
except ReplayError as fault:
    print(fault)
"""


def run_without_room(*arguments):
    """A file that may not grow fails where a full disk does: in the middle of a write."""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, arguments)], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    for suffix in SUFFIXES:
        assert "could not be stored: File too large. Make room" in run_without_room("write", store / f"b{suffix}")
        assert list(store.iterdir()) == []
    large = write(tmp_path / "b.zip", {**members(), "notes/large": bytes(4 << 20)})
    assert "could not be stored: File too large. Make room" in run_without_room(large, store / "b.pack")
    assert list(store.iterdir()) == []
