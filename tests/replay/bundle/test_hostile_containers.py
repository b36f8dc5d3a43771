"""Containers that are damaged, or made to harm: each is refused whole, in one sentence, leaving nothing behind."""

import gzip
import os
import tarfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from replay.bundle.limits import Limits
from replay.bundle.reader import open_bundle
from replay.errors import BundleError, ReplayError
from tests.replay.bundle.made import members, pack_of, packed, tar_bytes, write, zip_bytes

# --- no container at all


NO_CONTAINERS = {
    "nothing": (b"", "the file is empty"),
    "text": (b'{"format": "causal-log-bundle"}', "no archive that is understood"),
    "noise": (bytes(range(256)) * 8, "no archive that is understood"),
    "rar": (b"Rar!\x1a\x07\x00" + bytes(600), "no archive that is understood"),
    "bzip2": (b"BZh91AY&SY" + bytes(600), "no archive that is understood"),
    "age": (b"age-encryption.org/v1\n-> X25519 abc\n", "encrypted"),
    "armoured age": (b"-----BEGIN AGE ENCRYPTED FILE-----\n", "encrypted"),
    "gzip of text": (gzip.compress(b"hello"), "cut short"),
    "gzip of noise": (gzip.compress(os.urandom(600)), "checksum is wrong"),
    "zstandard of text": (zstandard.compress(b"hello"), "cut short"),
    "an end of a zip alone": (b"PK\x05\x06" + bytes(18), "no manifest"),
    "an empty tar": (bytes(10240), "no manifest"),
}


@pytest.mark.parametrize(("data", "rule"), NO_CONTAINERS.values(), ids=NO_CONTAINERS.keys())
def test_what_is_no_bundle_is_called_so(refused, data, rule):
    assert rule in refused(data)


def test_what_is_not_there_or_is_no_file_is_called_so(tmp_path):
    with pytest.raises(BundleError, match="no such file"):
        open_bundle(tmp_path / "nothing.zip")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BundleError, match="neither a file nor a directory"):
        open_bundle(tmp_path / "pipe")


def test_a_manifest_in_a_folder_is_pointed_at(refused):
    nested = {f"recording/{name}": data for name, data in members().items()}
    for data in (zip_bytes(nested), tar_bytes(nested)):
        assert "the manifest lies in the folder recording and not at the top" in refused(data)


# --- names


def padding(data):
    return bytes(-len(data.rstrip(b"\0")) % 512)


# --- links and devices


# --- limits


def test_bounds_hold_in_every_container(refused):
    content = {**members(), "notes/1": bytes(5000), "notes/2": bytes(5000)}
    archives = {"zip": zip_bytes(content), **{kind: packed(kind, tar_bytes(content)) for kind in ("tar", "tar.gz")}}
    for data in archives.values():
        assert "unpacks to more than 9000 bytes" in refused(data, limits=Limits(max_bytes=9000))
        assert refused(data, limits=Limits(max_members=5)).endswith("Split the recording, or raise the limit.")
        assert "at most 4000 are allowed" in refused(data, limits=Limits(max_member_bytes=4000))
        assert "job.json" in refused(data, limits=Limits(max_manifest_bytes=100))
        assert "longer than 20 bytes" in refused(data, limits=Limits(max_name_bytes=20))


def test_bounds_hold_in_a_directory(tmp_path):
    folder = write("dir", tmp_path / "b", members())
    for limits in (
        Limits(max_bytes=500),
        Limits(max_members=5),
        Limits(max_member_bytes=10),
        Limits(max_manifest_bytes=9),
    ):
        with pytest.raises(BundleError):
            pack_of(folder, tmp_path / "b.pack", limits=limits)


BOMB = bytes(80 << 20)


def test_a_member_that_expands_too_much_past_64_mib_is_refused(refused):
    rule = "the member expands more than 200:1 past 64 MiB"
    assert rule in refused(zip_bytes({**members(), "bomb": BOMB}))
    for kind in ("tar.gz", "tar.zst"):
        assert rule in refused(packed(kind, tar_bytes({**members(), "bomb": BOMB})))


def test_the_ratio_counts_past_64_mib_only(tmp_path):
    content = {**members(), "zeros": BOMB[: 60 << 20], "more zeros": BOMB[: 60 << 20]}
    for kind in ("zip", "tar.gz", "tar.zst"):
        assert pack_of(write(kind, tmp_path / f"b.{kind}", content), tmp_path / "b.pack").bytes > 120 << 20


SMALL_RATIO = Limits(archive_ratio_from_bytes=1 << 20)
WHOLE = "the archive expands more than 200:1 past 1 MiB"


def test_an_archive_of_many_small_bombs_is_refused(refused, tmp_path):
    content = {**members(), **{f"zeros {n}": bytes(1 << 18) for n in range(8)}}
    for kind in ("zip", "tar.gz", "tar.zst"):
        data = zip_bytes(content) if kind == "zip" else packed(kind, tar_bytes(content))
        assert WHOLE in refused(data, limits=SMALL_RATIO)
        noisy = {**content, "noise": os.urandom(1 << 15)}
        assert pack_of(write(kind, tmp_path / f"b.{kind}", noisy), tmp_path / "b.pack", limits=SMALL_RATIO)


@pytest.mark.parametrize("kind", ["tar.gz", "tar.zst"])
def test_padding_and_headers_without_end_are_refused(refused, kind):
    folder = tarfile.TarInfo("empty")
    folder.type = tarfile.DIRTYPE
    assert WHOLE in refused(packed(kind, tar_bytes(members()) + bytes(8 << 20)), limits=SMALL_RATIO)
    assert WHOLE in refused(packed(kind, folder.tobuf() * 16_000 + tar_bytes(members())), limits=SMALL_RATIO)


def test_names_may_not_fill_the_memory(refused):
    """A name of 1,024 bytes has 511 folders above it, each with a name of its own."""
    deep = {**members(), **{f"{n}/{'x/' * 500}x": b"" for n in range(3)}}
    rule = "the names of members and folders have more than 500000 bytes"
    for data in (tar_bytes(deep), zip_bytes(deep)):
        assert rule in refused(data, limits=Limits(max_names_bytes=500_000))


def test_a_large_member_that_expands_less_is_taken(tmp_path):
    noise = os.urandom(1 << 20)
    content = {**members(), "half noise": noise + BOMB}
    for kind in ("zip", "tar.gz", "tar.zst", "tar"):
        assert pack_of(write(kind, tmp_path / f"b.{kind}", content), tmp_path / "b.pack").bytes > 80 << 20


def test_a_truncated_archive_is_refused_wherever_it_is_cut(refused):
    content = members()
    for kind in ("tar", "tar.gz", "tar.zst"):
        whole = packed(kind, tar_bytes(content).rstrip(b"\0") + padding(tar_bytes(content)) + bytes(1024))
        for cut in {1, 100, 511, 512, 513, len(whole) // 3, len(whole) // 2, len(whole) - 600, len(whole) - 1}:
            if 0 < cut < len(whole):
                assert refused(whole[:cut]), (kind, cut)
    whole = zip_bytes(content)
    for cut in range(5, len(whole), 97):
        assert refused(whole[:cut])


# --- manifests


def test_manifests_that_cannot_be_read_are_refused(refused):
    def with_job(data):
        return tar_bytes({**members(), "job.json": data})

    assert "not JSON" in refused(with_job(b"{"))
    assert "not JSON" in refused(with_job(b"\xff"))
    assert "nested too deeply" in refused(with_job(b"[" * 200_000))
    assert "nested too deeply" in refused(with_job(b'{"a":' * 200_000))
    assert "not JSON" in refused(with_job(b'{"a": ' + b"9" * 10_000 + b"}"))
    assert "too large a number" in refused(with_job(b'{"a": 1e999}'))
    assert "not JSON" in refused(with_job(b'{"job": {"name": "\\ud800"}}'))
    without = {name: data for name, data in members().items() if name != "job.json"}
    assert "there is no manifest" in refused(tar_bytes(without))


# --- and whatever else


ARCHIVES = {
    "zip": zip_bytes(members()),
    "tar": tar_bytes(members()),
    "tar.gz": packed("tar.gz", tar_bytes(members())),
    "tar.zst": packed("tar.zst", tar_bytes(members())),
}


@given(st.sampled_from(sorted(ARCHIVES)), st.data())
def test_any_damage_is_read_or_refused(tmp_path_factory, kind, data):
    whole = bytearray(ARCHIVES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        match data.draw(st.sampled_from(["set", "cut", "drop", "repeat"])):
            case "set":
                whole[at] = data.draw(st.integers(0, 255))
            case "cut":
                del whole[at + 1 :]
            case "drop":
                del whole[at : at + data.draw(st.integers(1, 600))]
            case "repeat":
                whole[at:at] = whole[at : at + data.draw(st.integers(1, 600))]
        if not whole:
            break
    path = tmp_path_factory.mktemp("fuzz") / "b"
    path.write_bytes(whole)
    try:
        with open_bundle(path) as bundle:
            read_all(bundle)
    except ReplayError as fault:
        assert str(fault)


def read_all(bundle):
    bundle.check_shape()
    for task in bundle.tasks():
        for attempt in bundle.attempts(task):
            for thread in bundle.graph.task(task).threads:
                for epoch in bundle.epochs(task, attempt, thread):
                    list(bundle.determinants(task, attempt, thread, epoch))
            list(bundle.buffers(task, attempt, 0))
            list(bundle.sendings(task, attempt, 0))
            list(bundle.receipts(task, attempt, 0))
            list(bundle.source(task, attempt))
            list(bundle.sink(task, attempt))
    list(bundle.events())
