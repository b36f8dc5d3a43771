"""Tars written block by block, with any header that there is and none that there is not; and how they are squeezed."""

from __future__ import annotations

import gzip
import random
import zlib

import zstandard

from bench.fuzz.values import integer

Content = list[tuple[bytes, bytes]]
_BLOCK = 512
_KINDS = (
    b"0",
    b"\0",
    b"7",
    b"1",
    b"2",
    b"3",
    b"4",
    b"5",
    b"6",
    b"S",
    b"x",
    b"g",
    b"L",
    b"K",
    b"V",
    b"M",
    b"D",
    b"\xff",
)
_END = bytes(2 * _BLOCK)
_BOMB_BYTES = 80 << 20


def tar_of(rng: random.Random, content: Content, lies: int) -> bytes:
    """An archive of these members; before or in `lies` of its headers something is wrong."""
    wrong = {rng.randrange(len(content) + 1) for _ in range(lies)}
    out = bytearray()
    for number, (name, data) in enumerate(content):
        out += _member(rng, name, data, lies=number in wrong)
    end = _END
    if len(content) in wrong:
        end = rng.choice(
            (b"", bytes(_BLOCK), bytes(_BLOCK) + b"x" * _BLOCK, _END + b"x", _END + bytes(10_240), bytes(7))
        )
    return bytes(out + end)


def squeezed(rng: random.Random, kind: str, data: bytes, lies: int) -> bytes:
    """The tar as it is, by gzip or by zstandard; a lie is one of the compressed form's own."""
    if kind == "tar":
        return data
    packed = _gzipped(rng, data, lies) if kind == "tar.gz" else _zstandard(rng, data, lies)
    if lies and rng.random() < 0.2:
        return packed[: rng.randrange(len(packed))]
    return packed + (rng.choice((b"", bytes(100), b"x", packed)) if lies else b"")


def _gzipped(rng: random.Random, data: bytes, lies: int) -> bytes:
    if not lies or rng.random() < 0.3:
        return gzip.compress(data, mtime=0)
    match rng.randrange(4):
        case 0:
            at = rng.randrange(len(data) + 1)
            return gzip.compress(data[:at], mtime=0) + gzip.compress(data[at:], mtime=0)
        case 1:
            packed = bytearray(gzip.compress(data, mtime=0))
            packed[rng.randrange(-8, 0)] ^= 1  # checksum or size
            return bytes(packed)
        case 2:
            return gzip.compress(data + bytes(_BOMB_BYTES), 9, mtime=0)
        case _:
            flags = rng.choice((1, 2, 4, 8, 16, 31, 255))
            return b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + rng.randbytes(20) + zlib.compress(data)[2:]


def _zstandard(rng: random.Random, data: bytes, lies: int) -> bytes:
    if not lies or rng.random() < 0.3:
        return zstandard.compress(data)
    match rng.randrange(5):
        case 0:
            at = rng.randrange(len(data) + 1)
            return zstandard.compress(data[:at]) + zstandard.compress(data[at:])
        case 1:
            length = rng.choice((0, 10, 2**32 - 1, 2**31))
            return (
                b"\x50\x2a\x4d\x18" + length.to_bytes(4, "little") + bytes(min(length, 10)) + zstandard.compress(data)
            )
        case 2:
            return zstandard.compress(data + bytes(_BOMB_BYTES))
        case 3:
            # A header that asks for a window of up to two gigabytes.
            return b"\x28\xb5\x2f\xfd\x00" + bytes([rng.choice((0x88, 0x98, 0xA8, 0xF8))]) + rng.randbytes(30)
        case _:
            checked = zstandard.ZstdCompressor(write_checksum=True, write_content_size=rng.random() < 0.5)
            packed = bytearray(checked.compress(data))
            packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
            return bytes(packed)


def _member(rng: random.Random, name: bytes, data: bytes, *, lies: bool) -> bytes:
    padded = data + bytes(-len(data) % _BLOCK)
    plain = _long_name(name) + _header(name, len(data)) + padded
    if not lies:
        return plain
    match rng.randrange(9):
        case 0:
            return _header(name, len(data), kind=rng.choice(_KINDS)) + padded
        case 1:
            return _header(name, integer(rng, len(data), 4)) + padded
        case 2:
            field = rng.choice(
                (b"\x80" + bytes(3) + rng.randbytes(8), b"\xff" * 12, b"-0000000001\0", b"99999999999\0")
            )
            return _header(name, 0, size_field=field) + padded
        case 3:
            return _pax(rng, name, len(data)) + _header(name, len(data)) + padded
        case 4:
            sparse = b"GNU.sparse.major=1\n", b"GNU.sparse.size=99999999999\n", b"GNU.sparse.realsize=1\n"
            record = rng.choice(sparse)
            return _extension(b"x", _record(record)) + _header(name, len(data)) + padded
        case 5:
            header = bytearray(_header(name, len(data)))
            header[rng.randrange(_BLOCK)] ^= 1 << rng.randrange(8)
            return bytes(header) + padded
        case 6:
            return _extension(rng.choice((b"L", b"K")), name + rng.choice((b"", b"\0", b"x" * 2000))) + plain
        case 7:
            return plain + plain
        case _:
            return _header(rng.choice((b"tasks/", b"./", b"a/")), rng.choice((0, 0, 512)), kind=b"5") + plain


def _pax(rng: random.Random, name: bytes, size: int) -> bytes:
    told = rng.choice(
        (
            b"path=../../x\n", b"path=" + name + b"\n", b"path=\n", b"size=%d\n" % size, b"size=-1\n",
            b"size=9" + b"9" * 30 + b"\n", b"size=" + "٣".encode() + b"\n", b"hdrcharset=BINARY\n", b"path=a\x00b\n",
            b"linkpath=/etc/passwd\n", b"x" * 3000 + b"=\n",
        )
    )  # fmt: skip
    record = _record(told)
    if rng.random() < 0.3:
        record = rng.choice((b"", b"0 ", b"99999 ", b"-5 ", b"5", b"12 abc", b"1_0 a=b\n")) + record[2:]
    return _extension(rng.choice((b"x", b"x", b"g")), record * rng.choice((1, 1, 100)))


def _record(told: bytes) -> bytes:
    """With its own length before it, which counts itself."""
    length = len(told) + 2
    while len(b"%d " % length) + len(told) != length:
        length = len(b"%d " % length) + len(told)
    return b"%d " % length + told


def _extension(kind: bytes, content: bytes) -> bytes:
    return _header(b"extension", len(content), kind=kind) + content + bytes(-len(content) % _BLOCK)


def _long_name(name: bytes) -> bytes:
    return _extension(b"L", name + b"\0") if len(name) > 100 else b""


def _header(name: bytes, size: int, *, kind: bytes = b"0", size_field: bytes | None = None) -> bytes:
    field = size_field or (b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big"))
    head = name[:100].ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + field + b"00000000000\0" + b" " * 8
    block = (head + kind + bytes(100) + b"ustar\x0000").ljust(_BLOCK, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]
