"""Values that readers trip over: numbers at the edges of their types, JSON that is deep, long or not quite JSON."""

from __future__ import annotations

import json
import random
from typing import Any

_EDGES = (0, 1, -1, 2, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**53 + 1)
_WIDE = (2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30, 2**62)
# Spliced in as they are: what a JSON writer would not write.
_RAW = (
    b"NaN", b"-Infinity", b"1e999", b"-0", b"1E400", b"01", b"1.", b"0.1e-5", b"9" * 400, b"9" * 5000, b"1e5", b"nul",
    b'"\\ud800"', b'"\\u0000"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b"'x'", b"[" * 200_000, b'{"a":' * 50_000,
    b"[" * 900 + b"]" * 900, b"[" * 3000 + b"]" * 3000, b'{"a":1,"a":2}', b"", b"\x00", b"\xef\xbb\xbf{}", b"[1,]",
)  # fmt: skip


def integer(rng: random.Random, now: int, size: int) -> int:
    """Another value for a field of so many bytes that holds `now`; it fits, as a pattern of bits."""
    near = now + rng.choice((-2, -1, 1, 2, 4, 8, 255, 1000))
    chosen = rng.choice((near, near, rng.choice(_EDGES), rng.choice(_EDGES + _WIDE), rng.getrandbits(8 * size)))
    return chosen % (1 << (8 * size))


def json_value(rng: random.Random) -> Any:
    """A value of any kind, most of them wrong wherever they stand."""
    return rng.choice(
        (
            None, True, False, 0, -1, 0.5, 1e300, "", "x", "\x00", "\ud800", "é", "x" * 5000, [], {}, [[]], {"": None},
            rng.choice(_EDGES), rng.choice(_WIDE), -rng.choice(_WIDE), str(rng.choice(_EDGES)), "NaN", "../../x",
            [0] * 1000, {"a": {"b": {"c": []}}}, ["k", 1, "v"], ["k", 1, "v", [["source.0", 0]]],
        )
    )  # fmt: skip


def mutated_json(rng: random.Random, data: bytes) -> bytes:
    """A JSON text with one place changed; what does not parse gets raw bytes instead."""
    if rng.random() < 0.3:
        return _spliced(rng, data)
    try:
        document = json.loads(data)
    except ValueError:
        return _spliced(rng, data)
    document = _changed(rng, document)
    try:
        return json.dumps(document, ensure_ascii=rng.random() < 0.5, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )
    except ValueError:
        return _spliced(rng, data)


def _changed(rng: random.Random, value: Any) -> Any:
    """One place of it, at any depth, is something else, missing or twice there."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        match rng.randrange(8):
            case 0:
                value.pop(key)
            case 1:
                value[rng.choice((key.upper(), key + " ", "", "x" * 3000, "é", "\x00"))] = json_value(rng)
            case 2:
                value[key] = value[rng.choice(list(value))]
            case _:
                value[key] = _changed(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        match rng.randrange(8):
            case 0:
                value.pop(at)
            case 1:
                value.insert(at, value[rng.randrange(len(value))])
            case 2:
                value[at:at] = [json_value(rng)]
            case _:
                value[at] = _changed(rng, value[at])
        return value
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 1000, 2**31, 2**63, -(2**63)))
    return json_value(rng)


def _spliced(rng: random.Random, data: bytes) -> bytes:
    begin = rng.randrange(len(data) + 1)
    end = min(len(data), begin + rng.choice((0, 1, 2, 8)))
    return data[:begin] + rng.choice(_RAW) + data[end:]


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Bits flipped, a piece cut out, doubled, blanked, or the end missing; knows no structure."""
    if not data:
        return rng.randbytes(rng.choice((1, 8, 100)))
    at = rng.randrange(len(data))
    length = min(len(data) - at, rng.choice((1, 2, 4, 8, 48, 512, 4096)))
    match rng.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + length :]
        case 2:
            return data[:at] + data[at : at + length] * rng.choice((2, 3, 50)) + data[at + length :]
        case 3:
            return data[:at] + bytes(length) + data[at + length :]
        case 4:
            return data[:at] + rng.randbytes(length) + data[at:]
        case 5:
            return data + rng.choice((b"\x00", rng.randbytes(20), data))
        case _:
            flipped = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 10))):
                flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
            return bytes(flipped)
