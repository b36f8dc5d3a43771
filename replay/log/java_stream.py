"""Finds the end of a Java object serialization stream by walking its grammar. Nothing is ever instantiated.

The grammar is that of the Java Object Serialization Specification, protocol version 2. Every step of the walk is a
generator that yields the steps it needs first, so that nesting costs no recursion of this program.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from replay.errors import CorruptDeterminant

MAX_NESTING = 10_000
MAX_HANDLES = 1 << 22
MAX_CLASSES = 4096
MAX_SUPERCLASSES = 128

_MAGIC = b"\xac\xed\x00\x05"
_FIRST_HANDLE = 0x7E0000
_NULL, _REFERENCE, _CLASS_DESC, _OBJECT, _STRING, _ARRAY, _CLASS = range(0x70, 0x77)
_BLOCK, _END_BLOCK, _RESET, _BLOCK_LONG, _EXCEPTION, _LONG_STRING, _PROXY_DESC, _ENUM = range(0x77, 0x7F)
_WRITE_METHOD, _SERIALIZABLE, _EXTERNALIZABLE, _BLOCK_DATA = 1, 2, 4, 8
_WIDTHS = {b"B": 1, b"C": 2, b"D": 8, b"F": 4, b"I": 4, b"J": 8, b"S": 2, b"Z": 1}
_OBJECT_TYPES = (b"L", b"[")

_U2 = struct.Struct(">H")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")

Step = Generator["Step", Any, Any]


@dataclass(slots=True)
class _Class:
    """What a class descriptor says about the data of its objects."""

    name: bytes
    flags: int = 0
    primitive_bytes: int = 0
    objects: int = 0
    ancestors: int = 0
    layout: tuple[tuple[int, int, bool], ...] | None = None
    """Once the descriptor is complete, per class from the root down that has any data: (primitive bytes, objects,
    whether an annotation follows)."""

    def complete(self, parent: _Class | None) -> None:
        own = (self.primitive_bytes, self.objects, bool(self.flags & _WRITE_METHOD))
        inherited = parent.layout if parent and parent.layout else ()
        self.layout = (*inherited, own) if any(own) else inherited
        self.ancestors = parent.ancestors + 1 if parent else 0


def end_of_stream(data: bytes, offset: int, limit: int) -> int:
    """Where the one object of the stream that begins at `offset` ends; it must end at or before `limit`."""
    walk = _Walk(data, offset, limit)
    walk.run()
    return walk.at


class _Walk:
    """The position in one stream, and the handles that it has given out."""

    def __init__(self, data: bytes, begin: int, limit: int):
        self.data, self.begin, self.at, self.limit = data, begin, begin, limit
        self.handles: list[_Class | str] = []
        self.classes = 0

    def run(self) -> None:
        if self.take(4) != _MAGIC:
            raise self.fault("it does not begin with AC ED 00 05")
        waiting: list[Step] = [self.value()]
        answer: Any = None
        while waiting:
            try:
                needed = waiting[-1].send(answer)
            except StopIteration as done:
                waiting.pop()
                answer = done.value
                continue
            if len(waiting) >= MAX_NESTING:
                raise self.fault(f"it nests deeper than {MAX_NESTING} levels")
            waiting.append(needed)
            answer = None

    def fault(self, why: str) -> CorruptDeterminant:
        return CorruptDeterminant(f"the Java stream breaks its grammar at its byte {self.at - self.begin}: {why}")

    # --- bytes

    def take(self, count: int) -> bytes:
        if count < 0 or count > self.limit - self.at:
            raise self.fault(f"{count} bytes are needed, and {self.limit - self.at} are left")
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def skip(self, count: int) -> None:
        if count < 0 or count > self.limit - self.at:
            raise self.fault(f"{count} bytes are needed, and {self.limit - self.at} are left")
        self.at += count

    def byte(self) -> int:
        return self.take(1)[0]

    def u2(self) -> int:
        return int(_U2.unpack(self.take(2))[0])

    def int4(self) -> int:
        return int(_INT.unpack(self.take(4))[0])

    def utf(self) -> bytes:
        return self.take(self.u2())

    # --- handles

    def assign(self, what: _Class | str) -> None:
        if len(self.handles) >= MAX_HANDLES:
            raise self.fault(f"it has more than {MAX_HANDLES} handles")
        self.handles.append(what)

    def reference(self) -> _Class | str:
        handle = self.int4() - _FIRST_HANDLE
        if not 0 <= handle < len(self.handles):
            raise self.fault("it refers to an object that it has not shown yet")
        return self.handles[handle]

    # --- grammar

    def simple(self, tag: int) -> bool:
        """Null, a reference or a string: values that need no other value. Whether the tag was one of them."""
        if tag == _STRING:
            self.assign("string")
            self.skip(self.u2())
        elif tag == _REFERENCE:
            self.reference()
        elif tag == _LONG_STRING:
            self.assign("string")
            self.skip(int(_LONG.unpack(self.take(8))[0]))
        elif tag != _NULL:
            return False
        return True

    def string(self) -> None:
        """A string where nothing else may stand: a field's type, an enum's constant."""
        tag = self.byte()
        if tag == _REFERENCE:
            if self.reference() != "string":
                raise self.fault("a reference does not lead to a string")
        elif tag not in (_STRING, _LONG_STRING) or not self.simple(tag):
            raise self.fault(f"a string must stand here, and not tag {tag:#04x}")

    def value(self) -> Step:
        """One value: anything but block data."""
        tag = self.byte()
        if not self.simple(tag):
            yield self.compound(tag)

    def compound(self, tag: int) -> Step:
        if tag == _OBJECT:
            return self.object()
        if tag == _ARRAY:
            return self.array()
        if tag == _ENUM:
            return self.enum()
        if tag == _CLASS:
            return self.class_value()
        if tag in (_CLASS_DESC, _PROXY_DESC):
            return self.class_desc(tag)
        if tag == _EXCEPTION:
            raise self.fault("its writer failed halfway and recorded an exception")
        raise self.fault(f"no value begins with tag {tag:#04x}")

    def object(self) -> Step:
        described = yield self.described_class()
        self.assign("object")
        if described.flags & _EXTERNALIZABLE:
            if not described.flags & _BLOCK_DATA:
                raise self.fault("an externalizable object of protocol 1 has no end that can be found")
            yield self.annotation()
            return
        for primitive_bytes, objects, annotated in described.layout:
            self.skip(primitive_bytes)
            for _ in range(objects):
                if not self.simple(tag := self.byte()):
                    yield self.compound(tag)
            if annotated:
                yield self.annotation()

    def array(self) -> Step:
        described = yield self.described_class()
        self.assign("array")
        size = self.int4()
        component = described.name[1:2]
        if described.name[:1] != b"[" or size < 0:
            raise self.fault("an array is of no array class, or of a negative size")
        if component in _WIDTHS:
            self.skip(size * _WIDTHS[component])
        elif component not in _OBJECT_TYPES:
            raise self.fault("an array's class has no component type")
        else:
            for _ in range(size):
                if not self.simple(tag := self.byte()):
                    yield self.compound(tag)

    def enum(self) -> Step:
        yield self.described_class()
        self.assign("enum")
        self.string()

    def class_value(self) -> Step:
        yield self.described_class()
        self.assign("class")

    def annotation(self) -> Step:
        """Block data and values up to the end mark."""
        while (tag := self.byte()) != _END_BLOCK:
            if tag == _BLOCK:
                self.skip(self.byte())
            elif tag == _BLOCK_LONG:
                self.skip(self.int4())
            elif not self.simple(tag):
                yield self.compound(tag)

    def described_class(self) -> Step:
        """A class descriptor that may not be null."""
        described = yield self.optional_class()
        if described is None:
            raise self.fault("an object is of no class")
        return described

    def optional_class(self) -> Step:
        tag = self.byte()
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            found = self.reference()
            if not isinstance(found, _Class) or found.layout is None:
                raise self.fault("a reference does not lead to a class")
            return found
        if tag not in (_CLASS_DESC, _PROXY_DESC):
            raise self.fault(f"a class must stand here, and not tag {tag:#04x}")
        return (yield self.class_desc(tag))

    def class_desc(self, tag: int) -> Step:
        self.classes += 1
        if self.classes > MAX_CLASSES:
            raise self.fault(f"it describes more than {MAX_CLASSES} classes")
        described = self.proxy_desc() if tag == _PROXY_DESC else self.plain_desc()
        yield self.annotation()
        described.complete((yield self.optional_class()))
        if described.ancestors > MAX_SUPERCLASSES:
            raise self.fault(f"a class has more than {MAX_SUPERCLASSES} ancestors")
        return described

    def plain_desc(self) -> _Class:
        described = _Class(self.utf())
        self.skip(8)
        self.assign(described)
        described.flags = self.byte()
        if described.flags & _SERIALIZABLE and described.flags & _EXTERNALIZABLE:
            raise self.fault("a class is both serializable and externalizable")
        for _ in range(self.u2()):
            self.field(described)
        return described

    def field(self, described: _Class) -> None:
        kind = self.take(1)
        self.utf()
        if kind in _OBJECT_TYPES:
            self.string()
            described.objects += 1
        elif kind not in _WIDTHS:
            raise self.fault(f"a field is of type {kind!r}")
        elif described.objects:
            raise self.fault("a primitive field stands behind an object field")
        else:
            described.primitive_bytes += _WIDTHS[kind]

    def proxy_desc(self) -> _Class:
        described = _Class(b"", _SERIALIZABLE)
        self.assign(described)
        count = self.int4()
        if not 0 <= count <= 0xFFFF:
            raise self.fault(f"a proxy claims {count} interfaces")
        for _ in range(count):
            self.utf()
        return described
