"""Tars and compressed streams that are damaged, or claim what is not there."""

import gzip
import tarfile

import pytest
import zstandard

from tests.replay.bundle.made import members, packed, tar_bytes, tar_of


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


def test_a_gigantic_declared_length_is_refused_unread(refused):
    info = tarfile.TarInfo("bomb")
    info.size = 1 << 60
    head = info.tobuf(tarfile.GNU_FORMAT)
    assert "at most" in refused(head + bytes(1 << 12))
    info.size = 60 << 30
    head = info.tobuf(tarfile.GNU_FORMAT)
    assert "cut short" in refused(head + bytes(1 << 12))
    assert "expands more than 200:1" in refused(gzip.compress(head + bytes(1 << 12)))


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
