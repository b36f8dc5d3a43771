"""Containers that are damaged, or made to harm: each is refused whole, in one sentence, leaving nothing behind."""

import gzip
import io
import os
import struct
import tarfile
import zipfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from replay.bundle.limits import Limits
from replay.bundle.reader import open_bundle
from replay.errors import BundleError, ReplayError
from tests.replay.bundle.made import members, pack_of, packed, tar_bytes, tar_of, write, zip_bytes


@pytest.fixture
def refused(tmp_path):
    """Packs these bytes, and gives the sentence of their refusal; nothing may be left of the attempt."""

    def attempt(data, *, limits=None, name="upload"):
        folder = tmp_path / "store"
        folder.mkdir(exist_ok=True)
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(BundleError) as caught:
            pack_of(path, folder / "out.pack", limits=limits)
        assert list(folder.iterdir()) == []
        sentence = str(caught.value)
        assert sentence.isprintable() and len(sentence) < 500
        assert caught.value.remedy and caught.value.path
        with pytest.raises(BundleError):
            open_bundle(path, limits)
        return sentence

    return attempt


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


NAMES = {
    "/etc/passwd": "absolute",
    "../escape": "..",
    "tasks/../../escape": "..",
    "a\\b": "backslash",
    "C:/windows": "drive",
    "a//b": "empty part",
    "a/./b": "empty part",
    "line\nbreak": "control characters",
    "x" * 2000: "longer than",
}


@pytest.mark.parametrize(("name", "rule"), NAMES.items(), ids=list(NAMES.values()))
def test_a_name_that_leads_elsewhere_is_refused(refused, name, rule):
    content = {**members(), name: b"x"}
    for kind, data in (("tar", tar_bytes(content)), ("zip", zip_bytes(content))):
        assert rule in refused(data), kind
        assert rule in refused(packed("tar.gz", tar_bytes(content)))


def test_a_name_with_a_nul_is_refused(refused):
    data = zip_bytes({**members(), "nulXname": b""}).replace(b"nulXname", b"nul\0name")
    assert "control characters" in refused(data)


def test_names_that_are_not_utf8_are_refused(refused):
    placeholder = "notes/NAME"
    for raw in (b"notes/\xff\xfe\xfa\xfb", b"notes/\xed\xa0\x80x", b"notes/\xc0\xafxx"):
        data = zip_bytes({**members(), placeholder: b""}).replace(placeholder.encode(), raw)
        assert "not UTF-8" in refused(data)
        info = tarfile.TarInfo(os.fsdecode(raw))
        assert "not UTF-8" in refused(tar_of(info))


def padding(data):
    return bytes(-len(data.rstrip(b"\0")) % 512)


def test_two_members_of_one_name_are_refused(refused):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members().items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("events.ndjson", b"")
    assert "two members have this name" in refused(file.getvalue())
    twice = [(tarfile.TarInfo("events.ndjson"), b""), (tarfile.TarInfo("./events.ndjson"), b"")]
    assert "two members have this name" in refused(tar_of(*twice))


def test_names_are_told_apart_by_their_exact_bytes(tmp_path):
    # One composed, one decomposed: the same to the eye, and to some file systems.
    content = {**members(), "notes/\u00fc": b"1", "notes/u\u0308": b"2", "notes/\u00dc": b"3"}
    for kind in ("zip", "tar"):
        with open_bundle(write(kind, tmp_path / f"b.{kind}", content)) as bundle:
            assert {name: bundle.members.read(name) for name in bundle.members.names()} == content


@pytest.mark.parametrize("names", [("notes", "notes/x"), ("notes/x", "notes"), ("a/b/c", "a/b"), ("a/b", "a/b/c/d")])
def test_a_name_that_is_a_file_and_a_folder_is_refused(refused, names):
    content = dict.fromkeys(names, b"")
    assert "is a file here and a folder elsewhere" in refused(tar_bytes(content))
    assert "is a file here and a folder elsewhere" in refused(zip_bytes(content))


def test_a_folder_entry_beside_a_file_of_its_name_is_refused(refused):
    folder = tarfile.TarInfo("notes")
    folder.type = tarfile.DIRTYPE
    assert "a folder here and a file elsewhere" in refused(tar_of((tarfile.TarInfo("notes"), b""), folder))
    assert "a folder elsewhere" in refused(tar_of(folder, (tarfile.TarInfo("notes"), b"")))


# --- links and devices


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (tarfile.SYMTYPE, "is a link"),
        (tarfile.LNKTYPE, "is a hard link"),
        (tarfile.CHRTYPE, "is a device"),
        (tarfile.BLKTYPE, "is a device"),
        (tarfile.FIFOTYPE, "is a pipe"),
        (tarfile.GNUTYPE_SPARSE, "is sparse"),
        (b"V", "not understood"),
        (b"M", "not understood"),
    ],
)
def test_a_tar_entry_that_is_no_file_is_refused(refused, kind, rule):
    info = tarfile.TarInfo("tasks/a.0")
    info.type, info.linkname = kind, "/etc/passwd"
    assert rule in refused(tar_of(info))


def test_links_and_devices_in_a_zip_are_refused(refused):
    for mode, rule in ((0o120777, "is a link"), (0o020666, "neither a file"), (0o140777, "neither a file")):
        info = zipfile.ZipInfo("tasks")
        info.create_system, info.external_attr = 3, mode << 16
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(info, "/etc/passwd")
        assert rule in refused(file.getvalue())


def test_links_and_devices_in_a_directory_are_refused(tmp_path):
    folder = write("dir", tmp_path / "b", members())
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match="is a link"):
        open_bundle(folder)
    (folder / "link").unlink()
    (folder / "folder-link").symlink_to(tmp_path)
    with pytest.raises(BundleError, match="is a link"):
        open_bundle(folder)
    (folder / "folder-link").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(BundleError, match="neither a file nor a folder"):
        open_bundle(folder)
    (folder / "pipe").unlink()
    with open(os.fsencode(folder) + b"/\xff", "wb"):
        pass
    with pytest.raises(BundleError, match="not UTF-8"):
        open_bundle(folder)


def test_a_member_that_became_a_link_after_the_walk_is_refused(tmp_path):
    folder = write("dir", tmp_path / "b", members())
    with open_bundle(folder) as bundle:
        (folder / "events.ndjson").unlink()
        (folder / "events.ndjson").symlink_to("/etc/passwd")
        with pytest.raises(BundleError, match="cannot be opened"):
            list(bundle.events())


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


def test_a_large_member_that_expands_less_is_taken(tmp_path):
    noise = os.urandom(1 << 20)
    content = {**members(), "half noise": noise + BOMB}
    for kind in ("zip", "tar.gz", "tar.zst", "tar"):
        assert pack_of(write(kind, tmp_path / f"b.{kind}", content), tmp_path / "b.pack").bytes > 80 << 20


def test_a_gigantic_declared_length_is_refused_unread(refused):
    info = tarfile.TarInfo("bomb")
    info.size = 1 << 60
    head = info.tobuf(tarfile.GNU_FORMAT)
    assert "at most" in refused(head + bytes(1 << 12))
    info.size = 60 << 30
    head = info.tobuf(tarfile.GNU_FORMAT)
    assert "cut short" in refused(head + bytes(1 << 12))
    assert "expands more than 200:1" in refused(gzip.compress(head + bytes(1 << 12)))


def test_a_zip_whose_members_share_bytes_is_refused(refused):
    # The quine's way: many central entries that point at one local header.
    data = zip_bytes({"aaaa": bytes(1000), "bbbb": b"x"})
    central = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", central + 1)
    tampered = bytearray(data)
    tampered[second + 42 : second + 46] = bytes(4)
    tampered[second + 46 : second + 50] = b"aaaa"
    assert "headers disagree" in refused(bytes(tampered)) or "overlaps" in refused(bytes(tampered))


def test_a_zip_member_hidden_inside_another_is_refused(refused):
    inner = zip_bytes({"bbbb": b"hidden"}, zipfile.ZIP_STORED)
    inner_local = inner[: inner.index(b"PK\x01\x02")]
    outer = zip_bytes({"aaaa": inner_local, "bbbb": b"hidden"}, zipfile.ZIP_STORED)
    data = bytearray(outer)
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, second + 42, bytes(outer).index(inner_local, 30))
    assert "overlaps" in refused(bytes(data))


def lying_zip(**fields):
    """A zip of one deflated member whose headers, both alike, are changed."""
    data = bytearray(zip_bytes({"data.json": bytes(10_000)}))
    central = data.index(b"PK\x01\x02")
    places = {"crc": (14, 16), "packed": (18, 20), "unpacked": (22, 24)}
    for field, value in fields.items():
        local_at, central_at = places[field]
        struct.pack_into("<I", data, local_at, value)
        struct.pack_into("<I", data, central + central_at, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"unpacked": 9_999}, "more than its declared size"),
        ({"unpacked": 10_001}, "ends 1 bytes before its declared size"),
        ({"crc": 1}, "checksum is wrong"),
        ({"packed": 5}, "before its declared size"),
        ({"packed": 1 << 30}, "overlaps"),
    ],
)
def test_a_zip_that_lies_about_a_member_is_refused(refused, fields, rule):
    assert rule in refused(lying_zip(**fields))


def test_a_zip_whose_two_headers_disagree_is_refused(refused):
    for place, value in ((14, b"\x01"), (18, b"\x01"), (22, b"\x01"), (8, b"\x00"), (30, b"k")):
        data = bytearray(zip_bytes({"data.json": bytes(10_000)}))
        data[place : place + 1] = value
        assert "two headers disagree" in refused(bytes(data))


def test_encrypted_or_unknown_members_of_a_zip_are_refused(refused):
    data = bytearray(zip_bytes(members()))
    central = data.index(b"PK\x01\x02")
    for at in (6, central + 8):
        data[at] |= 1
    assert "is encrypted" in refused(bytes(data))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert f"compression method {method} is not understood" in refused(zip_bytes(members(), method))


def test_a_zip_with_something_before_between_or_behind_is_refused(refused):
    data = zip_bytes(members())
    assert "no archive" in refused(b"#!/bin/sh\n" + data)
    assert "something follows its end" in refused(data + b"trailing")
    assert "cut short" in refused(data[:-1])
    end = data.index(b"PK\x05\x06")
    assert "not where the end record says" in refused(data[:end] + b"gap" + data[end:])
    count = bytearray(data)
    struct.pack_into("<HH", count, end + 8, 3, 3)
    assert "counts 3 members" in refused(bytes(count))
    split = bytearray(data)
    struct.pack_into("<HH", split, end + 4, 1, 1)
    assert "split over several files" in refused(bytes(split))


def test_a_zip64_end_that_contradicts_itself_is_refused(refused):
    data = zip_bytes(members())
    end = data.index(b"PK\x05\x06")
    central_at = data.index(b"PK\x01\x02")
    count = len(members())

    def wide(record):
        locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
        tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        return data[:end] + record + locator + tail

    good = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, end - central_at, central_at)
    for kind in (good.replace(b"PK\x06\x06", b"PK\x06\x05"), good[:-8] + bytes(8), good[:4] + b"\x99" + good[5:]):
        assert refused(wide(kind))
    huge = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1 << 60, 1 << 60, end - central_at, central_at)
    assert "claims 1152921504606846976 members" in refused(wide(huge))


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


def test_garbage_behind_the_end_is_refused(refused):
    content = tar_bytes(members())
    for kind in ("tar", "tar.gz", "tar.zst"):
        assert "follow" in refused(packed(kind, content + b"x"))
        assert refused(packed(kind, content) + b"garbage")


@pytest.mark.parametrize("kind", ["tar.gz", "tar.zst"])
def test_a_flipped_bit_in_a_compressed_stream_is_noticed(refused, kind):
    whole = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(tar_bytes(members())))
    if kind == "tar.gz":
        whole = bytearray(packed(kind, tar_bytes(members())))
    whole[len(whole) // 2] ^= 4
    assert refused(bytes(whole))


def test_broken_headers_of_a_tar_are_refused(refused):
    good = tar_bytes(members(), tarfile.USTAR_FORMAT)
    second = good.index(b"events.ndjson")
    for change, rule in (((second, b"E"), "checksum is wrong"), ((148, b"9999999\0"), "no archive")):
        data = bytearray(good)
        data[change[0] : change[0] + len(change[1])] = change[1]
        assert rule in refused(bytes(data))
    sized = checksummed(bytearray(good[:512]), 124, b"not a number")
    assert "size is no number" in refused(bytes(sized) + good[512:])
    negative = checksummed(bytearray(good[:512]), 124, b"\xff" * 12)
    assert "size is no number" in refused(bytes(negative) + good[512:])


def checksummed(block, at, value):
    block[at : at + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return block


def pax(records, kind=tarfile.XHDTYPE):
    info = tarfile.TarInfo("pax")
    info.type, info.size = kind, len(records)
    return info.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % 512)


@pytest.mark.parametrize(
    ("records", "kind", "rule"),
    [
        (b"garbage", tarfile.XHDTYPE, "pax header is malformed"),
        (b"99 path=x\n", tarfile.XHDTYPE, "pax header is malformed"),
        (b"0 path=x\n", tarfile.XHDTYPE, "pax header is malformed"),
        (b"9 nothing", tarfile.XHDTYPE, "pax header is malformed"),
        (b"9" * 5000 + b" a=b\n", tarfile.XHDTYPE, "pax header is malformed"),
        (b"12 size=-10\n", tarfile.XHDTYPE, "size is no number"),
        (b"12 size=1e9\n", tarfile.XHDTYPE, "size is no number"),
        (b"22 GNU.sparse.major=1\n", tarfile.XHDTYPE, "sparse member"),
        (b"10 path=x\n", tarfile.XGLTYPE, "gives every member the same path"),
        (b"17 path=../escape\n"[:-1] + b"\n", tarfile.XHDTYPE, "pax header is malformed"),
        (b"18 path=../escape\n", tarfile.XHDTYPE, ".."),
    ],
)
def test_hostile_pax_headers_are_refused(refused, records, kind, rule):
    assert rule in refused(pax(records, kind) + tar_bytes(members()))


def test_an_extension_header_of_a_gigabyte_is_refused_unread(refused):
    for kind in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME):
        info = tarfile.TarInfo("x")
        info.type, info.size = kind, 1 << 30
        assert "extension header claims" in refused(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))


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
