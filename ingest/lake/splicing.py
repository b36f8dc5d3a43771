"""Puts Parquet files of one table together as they are: their row groups are copied, byte by byte, and only the footer
is written anew. To unpack and to pack millions of rows again takes longer than it took to make them.
"""

from __future__ import annotations

import os
import shutil
import struct
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ingest.lake.thrift import I64, LIST, STRUCT, Malformed, Reader, Struct, field_head, list_head, struct_bytes

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<i4s")

# Fields of a footer, of a row group, of a column's chunk and of what that says of itself, as parquet.thrift has them.
_SCHEMA, _ROWS, _ROW_GROUPS = 2, 3, 4
_COLUMNS, _ROW_GROUP_BEGINS, _ORDINAL = 1, 5, 7
_CHUNK_BEGINS, _CHUNK, _PAGE_INDEX = 2, 3, (4, 5, 6, 7)
_PLACES_OF_A_CHUNK = (9, 10, 11, 14)


def spliced(paths: Sequence[Path], into: Path) -> int:
    """Writes one file of all rows of these, in their order, which have the same columns; how many there are."""
    temporary = into.with_name(f".{into.stem}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as out:
            rows = _splice(paths, out)
        os.replace(temporary, into)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return rows


def _splice(paths: Sequence[Path], out: BinaryIO) -> int:
    out.write(_MAGIC)
    rows, row_groups, first = 0, list[bytes](), Struct()
    for path in paths:
        with path.open("rb") as file:
            footer, size = _footer(file)
            first = first or footer
            if footer[_SCHEMA] != first[_SCHEMA]:
                raise Malformed(f"{path} has other columns than {paths[0]}")
            moved = out.tell() - len(_MAGIC)
            file.seek(len(_MAGIC))
            shutil.copyfileobj(_Begin(file, size - len(_MAGIC)), out, 1 << 20)
        rows += footer[_ROWS][1]
        row_groups += [struct_bytes(_moved(one, moved)) for one in footer[_ROW_GROUPS][1][1]]
    _write_footer(out, {**first, _ROWS: (I64, rows)}, row_groups)
    return rows


class _Begin:
    """So many bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, most: int = -1, /) -> bytes:
        data = self._file.read(self._left if most < 0 else min(most, self._left))
        self._left -= len(data)
        return data


def _footer(file: BinaryIO) -> tuple[Struct, int]:
    """It, and where it begins."""
    end = file.seek(-_TAIL.size, os.SEEK_END)
    size, magic = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC:
        raise Malformed(f"{file.name} is no Parquet file")
    file.seek(end - size)
    return Reader(file.read(size)).struct(), end - size


def _moved(row_group: Struct, by: int) -> Struct:
    """So many bytes further behind. What would only say again where pages are is left out."""
    row_group.pop(_ORDINAL, None)
    _move(row_group, _ROW_GROUP_BEGINS, by)
    for column in row_group[_COLUMNS][1][1]:
        _move(column, _CHUNK_BEGINS, by)
        for field in _PAGE_INDEX:
            column.pop(field, None)
        for place in _PLACES_OF_A_CHUNK:
            _move(column[_CHUNK][1], place, by)
    return row_group


def _move(fields: Struct, number: int, by: int) -> None:
    if number in fields and fields[number][1]:
        kind, place = fields[number]
        fields[number] = kind, place + by


def _write_footer(out: BinaryIO, footer: Struct, row_groups: list[bytes]) -> None:
    """The row groups are in bytes already: of millions of rows there are thousands of them."""
    before = {number: field for number, field in footer.items() if number < _ROW_GROUPS}
    behind = {number: field for number, field in footer.items() if number > _ROW_GROUPS}
    begins = out.tell()
    out.write(struct_bytes(before)[:-1])  # without its end
    out.write(field_head(_ROW_GROUPS, LIST) + list_head(STRUCT, len(row_groups)))
    out.writelines(row_groups)
    out.write(_behind(behind))
    out.write(_TAIL.pack(out.tell() - begins, _MAGIC))


def _behind(fields: Struct) -> bytes:
    """Fields that follow on others, which are numbered from these on."""
    if not fields:
        return b"\0"
    first = min(fields)
    return field_head(first, fields[first][0]) + struct_bytes(fields)[1:]  # in place of the head of one byte
