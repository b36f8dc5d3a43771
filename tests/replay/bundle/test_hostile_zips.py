"""Zips that lie: about sizes, places, names, or what they are."""

import io
import struct
import zipfile

import pytest

from tests.replay.bundle.made import members, zip_bytes


def test_links_and_devices_in_a_zip_are_refused(refused):
    for mode, rule in ((0o120777, "is a link"), (0o020666, "neither a file"), (0o140777, "neither a file")):
        info = zipfile.ZipInfo("tasks")
        info.create_system, info.external_attr = 3, mode << 16
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(info, "/etc/passwd")
        assert rule in refused(file.getvalue())


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
