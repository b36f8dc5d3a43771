"""Zips written byte by byte, so that any field of any header may lie: sizes, places, methods, checksums, counts."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass, replace

from bench.fuzz.values import integer

Content = list[tuple[bytes, bytes]]
_BOMB_BYTES = (1 << 20, 96 << 20)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What both headers say of a member, and what there really is."""

    name: bytes
    packed: bytes
    method: int
    crc: int
    packed_bytes: int
    unpacked_bytes: int
    flags: int = 0
    mode: int = 0
    extra: bytes = b""
    local_name: bytes | None = None
    says_local_at: int | None = None


def zip_of(rng: random.Random, content: Content, lies: int) -> bytes:
    """An archive of these members; `lies` of its entries are not what they say."""
    entries = [_entry(name, data, stored=rng.random() < 0.2) for name, data in content]
    for _ in range(lies):
        at = rng.randrange(len(entries) + 1)
        if at == len(entries) or rng.random() < 0.15:
            entries.insert(at, _bomb(rng))
        else:
            entries[at] = _lying(rng, entries[at], entries)
    return _written(rng, entries, lies > 0)


def _entry(name: bytes, data: bytes, *, stored: bool) -> _Entry:
    return _Entry(name, data if stored else _deflated(data), 0 if stored else 8, zlib.crc32(data), -1, len(data))


def _deflated(data: bytes) -> bytes:
    squeezer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return squeezer.compress(data) + squeezer.flush()


def _bomb(rng: random.Random) -> _Entry:
    """Zeros without end, told truly or not; some are past the size from which the ratio counts."""
    size = rng.choice(_BOMB_BYTES)
    squeezer, packed, piece = zlib.compressobj(9, zlib.DEFLATED, -15), b"", bytes(1 << 20)
    crc = 0
    for _ in range(size >> 20):
        packed += squeezer.compress(piece)
        crc = zlib.crc32(piece, crc)
    packed += squeezer.flush()
    told = rng.choice((size, size, 10, 2**32 - 2, len(packed)))
    return _Entry(rng.choice((b"bomb", b"job.json", b"events.ndjson")), packed, 8, crc, -1, told)


def _lying(rng: random.Random, entry: _Entry, entries: list[_Entry]) -> _Entry:
    match rng.randrange(11):
        case 0:
            return replace(entry, crc=integer(rng, entry.crc, 4))
        case 1:
            return replace(entry, unpacked_bytes=integer(rng, entry.unpacked_bytes, 4))
        case 2:
            return replace(entry, packed_bytes=integer(rng, len(entry.packed), 4))
        case 3:
            return replace(entry, method=rng.choice((0, 1, 8, 9, 12, 14, 93, 95, 99)))
        case 4:
            return replace(entry, flags=rng.choice((1, 8, 0x40, 0x800, 0x2000, 0xFFFF)))
        case 5:
            return replace(entry, mode=rng.choice((0o120777, 0o010644, 0o060644, 0o040755, 0o100000, 0xFFFF)) << 16)
        case 6:
            return replace(entry, local_name=rng.choice((b"", entry.name.upper(), b"../x", entry.name + b"x")))
        case 7:
            return replace(entry, says_local_at=rng.choice((0, 1, 30, 2**32 - 1, 2**31)))
        case 8:
            wide = struct.pack("<2H", 1, rng.choice((0, 7, 8, 16, 24, 65535))) + rng.randbytes(rng.choice((0, 8, 24)))
            return replace(entry, extra=wide, unpacked_bytes=rng.choice((entry.unpacked_bytes, 2**32 - 1)))
        case 9:
            return replace(entry, packed=entry.packed + rng.randbytes(rng.choice((1, 10))))
        case _:
            return replace(entry, name=rng.choice(entries).name)


def _written(rng: random.Random, entries: list[_Entry], lies: bool) -> bytes:
    body, central = bytearray(), bytearray()
    if lies and rng.random() < 0.1:
        body += rng.randbytes(rng.choice((1, 100)))
    for entry in entries:
        packed_bytes = len(entry.packed) if entry.packed_bytes < 0 else entry.packed_bytes
        told = (entry.flags, entry.method, 0, 0, entry.crc, packed_bytes, entry.unpacked_bytes)
        at = len(body) if entry.says_local_at is None else entry.says_local_at
        local_name = entry.name if entry.local_name is None else entry.local_name
        body += struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, *told, len(local_name) % 65536, len(entry.extra))
        body += local_name + entry.extra + entry.packed
        central += struct.pack(
            "<4s6H3I5H2I", b"PK\x01\x02", 0x031E, 20, *told, len(entry.name) % 65536, len(entry.extra), 0, 0, 0,
            entry.mode, at,
        ) + entry.name + entry.extra  # fmt: skip
    count, size, begin, comment = len(entries), len(central), len(body), b""
    if lies and rng.random() < 0.2:
        count, size, begin = rng.choice(((count + 1, size, begin), (count, size + 1, begin), (count, size, begin + 1)))
        comment = rng.choice((b"", b"PK\x05\x06" + bytes(18), b"x" * 65535))
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, size, begin, len(comment)) + comment
    if lies and rng.random() < 0.1:
        end = _end64(rng, count, size, begin, len(body) + len(central)) + end[:8] + b"\xff" * 12 + end[20:]
    return bytes(body + central + end)


def _end64(rng: random.Random, count: int, size: int, begin: int, at: int) -> bytes:
    told = [44, 45, 45, 0, 0, count, count, size, begin]
    if rng.random() < 0.7:
        field = rng.choice((0, 5, 6, 7, 8))
        told[field] = integer(rng, told[field], 8)
    return struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", *told) + struct.pack("<4sIQI", b"PK\x06\x07", 0, at, 1)
