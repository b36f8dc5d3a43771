"""Java serialization streams by their grammar, well made or with one lie: lengths, handles, nesting."""

from __future__ import annotations

import random
import struct

_HEAD = b"\xac\xed\x00\x05"
_FIRST_HANDLE = 0x7E0000
_DEEPEST = 4
_PRIMITIVES = {b"B": 1, b"C": 2, b"D": 8, b"F": 4, b"I": 4, b"J": 8, b"S": 2, b"Z": 1}
_LIES = (0, 1, 2**15, 2**16 - 1, 2**31 - 1, -1, -(2**31))


def stream(rng: random.Random) -> bytes:
    """One object; two in three are as Java would write them."""
    lies = rng.random() < 0.33
    data = _HEAD + _Writer(rng, lies).value(0)
    if lies and rng.random() < 0.3:
        at = rng.randrange(len(_HEAD), len(data))
        data = data[:at] + rng.randbytes(1) + data[at + 1 :]
    return data


def nested(depth: int) -> bytes:
    """Arrays of one array each, so many times."""
    opened = b"\x75\x72" + _text(b"[Ljava.lang.Object;") + bytes(8) + b"\x02\x00\x00\x78\x70" + struct.pack(">i", 1)
    return _HEAD + opened * depth + b"\x70"


class _Writer:
    def __init__(self, rng: random.Random, lies: bool) -> None:
        self.rng, self.lies, self.handles = rng, lies, 0

    def value(self, depth: int) -> bytes:
        made = [self._null, self._string, self._long_string, self._block_array]
        if depth < _DEEPEST:
            made += [self._object, self._object, self._array, self._enum, self._class]
        if self.handles:
            made.append(self._reference)
        return self.rng.choice(made)(depth)

    def _count(self, right: int) -> int:
        return self.rng.choice(_LIES) if self.lies and self.rng.random() < 0.2 else right

    def _null(self, depth: int) -> bytes:
        return b"\x70"

    def _string(self, depth: int) -> bytes:
        self.handles += 1
        return b"\x74" + _text(self.rng.randbytes(self.rng.randrange(30)), self._count)

    def _long_string(self, depth: int) -> bytes:
        self.handles += 1
        text = self.rng.randbytes(self.rng.randrange(30))
        return b"\x7c" + struct.pack(">q", self._count(len(text))) + text

    def _reference(self, depth: int) -> bytes:
        handle = self.rng.randrange(self.handles + (3 if self.lies else 0))
        return b"\x71" + struct.pack(">I", _FIRST_HANDLE + handle)

    def _description(self, name: bytes, fields: list[bytes], flags: int, depth: int) -> bytes:
        self.handles += 1
        head = b"\x72" + _text(name) + self.rng.randbytes(8) + bytes([flags])
        told = struct.pack(">H", self._count(len(fields)) % 65536)
        for kind in fields:
            told += kind + _text(b"f")
            if kind in (b"L", b"["):
                self.handles += 1
                told += b"\x74" + _text(b"Ljava/lang/Object;")
        return head + told + b"\x78\x70"

    def _object(self, depth: int) -> bytes:
        rng = self.rng
        fields = [rng.choice((*_PRIMITIVES, b"L", b"[")) for _ in range(rng.randrange(5))]
        fields.sort(key=lambda kind: kind in (b"L", b"["))
        annotated = rng.random() < 0.3
        data = b"\x73" + self._description(b"a.B", fields, 3 if annotated else 2, depth)
        self.handles += 1
        for kind in fields:
            data += rng.randbytes(_PRIMITIVES[kind]) if kind in _PRIMITIVES else self.value(depth + 1)
        if annotated:
            block = rng.randbytes(rng.randrange(40))
            data += b"\x77" + bytes([self._count(len(block)) % 256]) + block + b"\x78"
        return data

    def _array(self, depth: int) -> bytes:
        count = self.rng.randrange(4)
        data = b"\x75" + self._description(b"[Ljava.lang.Object;", [], 2, depth)
        self.handles += 1
        data += struct.pack(">i", self._count(count))
        return data + b"".join(self.value(depth + 1) for _ in range(count))

    def _block_array(self, depth: int) -> bytes:
        content = self.rng.randbytes(4 * self.rng.randrange(9))
        data = b"\x75" + self._description(b"[I", [], 2, depth)
        self.handles += 1
        return data + struct.pack(">i", self._count(len(content) // 4)) + content

    def _enum(self, depth: int) -> bytes:
        data = b"\x7e" + self._description(b"a.E", [], 0x12, depth)
        self.handles += 2
        return data + b"\x74" + _text(b"ONE")

    def _class(self, depth: int) -> bytes:
        data = b"\x76" + self._description(b"a.C", [], 2, depth)
        self.handles += 1
        return data


def _text(text: bytes, count: object = None) -> bytes:
    length = count(len(text)) % 65536 if callable(count) else len(text)
    return struct.pack(">H", length) + text
