"""Mutations of one member that know its format: fields of frames and deltas, tags of determinants, lines."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

from bench.fuzz.java import nested, stream
from bench.fuzz.values import integer, mutated_bytes, mutated_json
from replay.errors import CorruptMember
from replay.log.codec import decode_all

Spot = tuple[int, int]
"""Where an integer stands: offset and size."""

BUFFER_HEAD = (8, 8, 1, 8, 4, 4)
SENDING_HEAD = (8, 8, 4, 4, 1, 4)
RECEIPT_HEAD = (8, 4, 4, 8, 8, 8, 4, 4)
_MOST_FRAMES = 2000


def mutated_member(rng: random.Random, name: str, data: bytes) -> bytes:
    """The same member, changed in one place."""
    if rng.random() < 0.1:
        return mutated_bytes(rng, data)
    for suffix, mutate in _BY_SUFFIX.items():
        if name.endswith(suffix):
            return mutate(rng, data)
    return mutated_bytes(rng, data)


def _fields(at: int, sizes: tuple[int, ...]) -> Iterator[Spot]:
    for size in sizes:
        yield at, size
        at += size


def _frames(data: bytes, head: tuple[int, ...], *, sized: bool) -> list[tuple[int, int]]:
    """(begin, end) of each frame of a member that is still whole."""
    found: list[tuple[int, int]] = []
    at, head_bytes = 0, sum(head)
    while at + head_bytes <= len(data) and len(found) < _MOST_FRAMES:
        length = int.from_bytes(data[at + head_bytes - 4 : at + head_bytes], "big", signed=True) if sized else 0
        end = at + head_bytes + length
        if length < 0 or end > len(data):
            break
        found.append((at, end))
        at = end
    return found


def _with_field(rng: random.Random, data: bytes, spots: list[Spot]) -> bytes:
    if not spots:
        return mutated_bytes(rng, data)
    at, size = rng.choice(spots)
    now = int.from_bytes(data[at : at + size], "big")
    return data[:at] + integer(rng, now, size).to_bytes(size, "big") + data[at + size :]


def _rearranged(rng: random.Random, data: bytes, pieces: list[tuple[int, int]]) -> bytes:
    """A piece is missing, doubled, or changes its place with another."""
    begin, end = rng.choice(pieces)
    other_begin, other_end = rng.choice(pieces)
    match rng.randrange(3):
        case 0:
            return data[:begin] + data[end:]
        case 1:
            return data[:end] + data[begin:end] + data[end:]
        case _:
            return data[:begin] + data[other_begin:other_end] + data[end:]


def _framed(head: tuple[int, ...], *, sized: bool, inside: Callable[[bytes, int, int], Iterator[Spot]] | None = None):  # type: ignore[no-untyped-def]
    def mutate(rng: random.Random, data: bytes) -> bytes:
        frames = _frames(data, head, sized=sized)
        if not frames:
            return mutated_bytes(rng, data)
        if rng.random() < 0.25:
            return _rearranged(rng, data, frames)
        begin, end = rng.choice(frames)
        spots = list(_fields(begin, head))
        if inside is not None and end > begin + sum(head) and rng.random() < 0.6:
            spots = list(inside(data, begin + sum(head), end))
        return _with_field(rng, data, spots)

    return mutate


def _delta_spots(data: bytes, at: int, end: int) -> Iterator[Spot]:
    """Header size, epoch and the entries of a flat delta message."""
    if end - at < 12:
        return
    (size,) = struct.unpack_from(">i", data, at)
    yield from ((at, 4), (at + 4, 8))
    entry, last = at + 12, min(end, at + size)
    while entry + 11 <= last:
        sizes = (2, 1, 4, 4) if data[entry + 2] else (2, 1, 8, 8, 1, 4, 4)
        yield from _fields(entry, sizes)
        entry += sum(sizes)


def _payload_spots(data: bytes, at: int, end: int) -> Iterator[Spot]:
    """The lengths of records, where they begin with the payload; else its bytes."""
    while at + 4 <= end:
        yield at, 4
        (length,) = struct.unpack_from(">i", data, at)
        if length < 0:
            return
        yield at + 4, 1
        at += 4 + length


def _determinants(rng: random.Random, data: bytes) -> bytes:
    pieces, places = [], decode_all(data, "")
    try:
        pieces = [
            (offset, offset + length) for (offset, length, _), _ in zip(places, range(_MOST_FRAMES), strict=False)
        ]
    except CorruptMember:
        pass  # a mutation before this one damaged it
    at = rng.choice(pieces)[0] if pieces else 0
    match rng.randrange(6):
        case 0 if pieces:
            return _rearranged(rng, data, pieces)
        case 1:
            return data[:at] + b"\x03" + stream(rng) + data[at:]
        case 2:
            return data[:at] + b"\x03" + nested(rng.choice((1, 50, 5000, 20_000))) + data[at:]
        case 3:
            length = rng.choice((0, 5, 5000, 2**31 - 1, 2**32 - 1))
            content = rng.randbytes(min(length, 5000))
            sized = b"\x03CL" + bytes([rng.choice((0, 1, 2, 3, 4, 255))]) + struct.pack(">I", length) + content
            return data[:at] + sized + data[at:]
        case 4:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    begin, end = rng.choice(pieces) if pieces else (0, len(data))
    spots = [(place, size) for place in range(begin + 1, end) for size in (1, 4, 8) if place + size <= end]
    return _with_field(rng, data, spots)


def _lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            lines.insert(at, lines[rng.randrange(len(lines))])
        case 1:
            lines.pop(at)
        case 2:
            lines[at] += rng.choice((b"\r", b"\x00", b"  ", lines[at], b"\x0b", "\u2028".encode()))
        case 3:
            lines.insert(at, rng.choice((b"", b" ", b"{}", b"[]", b"null", b'"x"')))
        case _:
            lines[at] = mutated_json(rng, lines[at])
    return b"\n".join(lines)


_BY_SUFFIX: dict[str, Callable[[random.Random, bytes], bytes]] = {
    ".det": _determinants,
    ".buf": _framed(BUFFER_HEAD, sized=True, inside=_payload_spots),
    ".dlt": _framed(SENDING_HEAD, sized=True, inside=_delta_spots),
    ".rcv": _framed(RECEIPT_HEAD, sized=False),
    ".ndjson": _lines,
    ".json": mutated_json,
}
