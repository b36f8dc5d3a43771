"""Thrift's compact protocol, as far as the footer of a Parquet file needs it: bytes to values, and back to bytes.

A struct is a dict of its fields by number, each with the type it is written in; so what is not known here is kept as it
came.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]
"""(type, value) by field number. A list is (type of its elements, elements)."""

_INTEGERS = (I16, I32, I64)
_LONG_LIST = 15


class Malformed(Exception):
    """Not what a Parquet writer writes."""


class Reader:
    """Goes forwards through bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        """The next struct."""
        fields: Struct = {}
        number, data = 0, self._data
        while head := data[self._at]:
            self._at += 1
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind)
        self._at += 1
        return fields

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind == LIST:
            return self._list()
        if kind in (BYTE, TRUE, FALSE):  # of a list's booleans too each has a byte
            return self._bytes(1)
        if kind == DOUBLE:
            return self._bytes(8)
        raise Malformed(f"a Parquet footer holds a value of type {kind}")

    def _list(self) -> tuple[int, list[Any]]:
        head = self._data[self._at]
        self._at += 1
        size = head >> 4 if head >> 4 != _LONG_LIST else self._varint()
        return head & 15, [self._value(head & 15) for _ in range(size)]

    def _bytes(self, size: int) -> bytes:
        begin, self._at = self._at, self._at + size
        return self._data[begin : self._at]

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        data, at = self._data, self._at
        number = shift = 0
        while (byte := data[at]) & 128:
            number |= (byte & 127) << shift
            shift += 7
            at += 1
        self._at = at + 1
        return number | byte << shift


def struct_bytes(fields: Struct) -> bytes:
    """As `Reader.struct` reads it."""
    written = bytearray()
    _write_struct(written, fields)
    return bytes(written)


def list_head(kind: int, size: int) -> bytes:
    """What stands before the elements of a list."""
    written = bytearray()
    _write_list_head(written, kind, size)
    return bytes(written)


def field_head(number: int, kind: int) -> bytes:
    """What stands before a field, whatever comes before it."""
    written = bytearray((kind,))
    _write_integer(written, number)
    return bytes(written)


def _write_struct(written: bytearray, fields: Struct) -> None:
    before = 0
    for number, (kind, value) in sorted(fields.items()):
        if 0 < number - before < 16:
            written.append((number - before) << 4 | kind)
        else:
            written += field_head(number, kind)
        if kind not in (TRUE, FALSE):
            _write_value(written, kind, value)
        before = number
    written.append(0)


def _write_value(written: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _write_integer(written, value)
    elif kind == BINARY:
        _write_varint(written, len(value))
        written += value
    elif kind == STRUCT:
        _write_struct(written, value)
    elif kind == LIST:
        of, elements = value
        _write_list_head(written, of, len(elements))
        for one in elements:
            _write_value(written, of, one)
    else:
        written += value


def _write_list_head(written: bytearray, kind: int, size: int) -> None:
    if size < _LONG_LIST:
        written.append(size << 4 | kind)
    else:
        written.append(_LONG_LIST << 4 | kind)
        _write_varint(written, size)


def _write_integer(written: bytearray, number: int) -> None:
    _write_varint(written, number << 1 if number >= 0 else (-number << 1) - 1)


def _write_varint(written: bytearray, number: int) -> None:
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
