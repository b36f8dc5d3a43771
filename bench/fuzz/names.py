"""Names of members that lead elsewhere, clash, or are almost one of the format's."""

from __future__ import annotations

import random
import unicodedata

_PARTS = (
    b"..", b".", b"", b"\x00", b"a\x00b", b"a\\b", b"C:", b"\xff\xfe", b"\x7f", b" ", b"a\nb", b"x" * 300, b"CON",
    "\u202e".encode(), b"~", b"*", b"%2e%2e", "e\u0301".encode(), "\u00e9".encode(), b"\xc0\xae\xc0\xae", b"...",
)  # fmt: skip
_NUMBERS = (
    b"-1",
    b"007",
    b"9" * 30,
    b"18446744073709551615",
    b"9223372036854775807",
    "٣".encode(),
    b"1_0",
    b" 1",
    b"1e3",
    b"0x1",
)


def hostile_name(rng: random.Random, name: bytes) -> bytes:
    """Another name for a member, made of its own."""
    parts = name.split(b"/")
    at = rng.randrange(len(parts))
    match rng.randrange(10):
        case 0:
            parts[at] = rng.choice(_PARTS)
        case 1:
            parts.insert(at, rng.choice(_PARTS))
        case 2:
            return b"/" * rng.choice((1, 2)) + name
        case 3:
            return rng.choice((name.upper(), name.title(), name.swapcase()))
        case 4:
            parts[at] = rng.choice(_NUMBERS) + (b"." + parts[at].rpartition(b".")[2] if b"." in parts[at] else b"")
        case 5:
            return name + rng.choice((b"/", b"/x", b" ", b".", b"\x00", b"\x00.det", b"/../../../tmp/x"))
        case 6:
            return b"/".join([b"d"] * rng.choice((5, 400, 600))) + b"/" + name
        case 7:
            return unicodedata.normalize("NFD", name.decode("utf-8", "replace") + "é").encode()
        case 8:
            parts[-1] = b"x" * rng.choice((255, 256, 1024, 1025, 40_000))
        case _:
            return b"./" * rng.choice((1, 3)) + name
    return b"/".join(parts)
