"""Files that hold what a sink gave: lines of text, of JSON, of a table in CSV; gzipped or not."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from replay.errors import ReplayError, printable
from replay.guarantees.outside.addresses import Address
from replay.guarantees.outside.rows import Row
from replay.model import read_json

MOST_LINE_BYTES = 16 << 20
MOST_FIELDS = 10_000
_GZIP = b"\x1f\x8b"
_REMEDY = "Write the file again, or leave out what is none"
Lines = Iterator[tuple[int, str]]
"""Each with its number, from 1, and without its end."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of rows; `parse` makes them of its lines."""

    path: Path
    parse: Callable[[Path, Lines], Iterator[Row]]

    @property
    def name(self) -> str:
        """The file's own."""
        return self.path.name

    def rows(self) -> Iterator[Row]:
        """In the file's order."""
        try:
            with open(self.path, "rb") as stream:
                yield from self.parse(self.path, _lines(stream, self.path))
        except OSError as fault:
            why = str(fault.strerror or fault)
            raise ReplayError(f"it can't be read: {why}", path=str(self.path)) from fault
        except (EOFError, zlib.error) as fault:
            raise ReplayError("what is gzipped in it is cut short or damaged", path=str(self.path)) from fault


def fault_in(path: Path, number: int, why: str, remedy: str = _REMEDY) -> ReplayError:
    """What is wrong with a line."""
    return ReplayError(f"line {number:,}: {why}", path=str(path), remedy=remedy)


def _lines(stream: BinaryIO, path: Path) -> Lines:
    opened: Any = gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == _GZIP else stream  # type: ignore[attr-defined]
    number = 0
    while line := opened.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise fault_in(path, number, f"it is longer than {MOST_LINE_BYTES} bytes")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as fault:
            raise fault_in(path, number, f"it is not UTF-8 (byte {fault.start})") from None
        yield number, text.rstrip("\r\n")


# --- kinds ---


def read_lines(path: Path, lines: Lines) -> Iterator[Row]:
    """Each line that is not empty is a row: `line` is its text."""
    for number, text in lines:
        if text:
            yield Row(str(number), {"line": text, "key": text, "value": text}, text)


def read_json_lines(path: Path, lines: Lines) -> Iterator[Row]:
    """An object a line; what is none is the `value` of one."""
    for number, text in lines:
        if text.strip():
            value = json_of(path, number, text)
            yield Row(str(number), value if isinstance(value, dict) else {"value": value}, value)


def json_of(path: Path, number: int, text: str) -> Any:
    """A line as JSON."""
    try:
        return read_json(text.encode())
    except ValueError as fault:
        raise fault_in(path, number, f"it is not JSON: {printable(str(fault))}") from None


def read_csv(path: Path, lines: Lines) -> Iterator[Row]:
    """A table whose first line names its columns; a field may go on over several lines."""
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for number, text in lines:
            at = number
            yield text + "\n"

    reader = csv.reader(texts(), strict=True)
    try:
        names = next(reader, None)
        if names is not None and (len(set(names)) != len(names) or len(names) > MOST_FIELDS):
            raise fault_in(path, 1, "two of its columns have one name, or there are too many", "Name each column once")
        for fields in reader:
            if not fields:
                continue
            if names is None or len(fields) != len(names):
                raise fault_in(path, at, f"it has {len(fields):,} fields, and the first line {len(names or ()):,}")
            value = dict(zip(names, fields, strict=True))
            yield Row(str(at), value, value)
    except csv.Error as fault:
        raise fault_in(path, at, f"it is not CSV: {printable(str(fault))}") from None


def reader_of(parse: Callable[[Path, Lines], Iterator[Row]]) -> Callable[[Address], File]:
    """Of files of one kind."""

    def opened(address: Address) -> File:
        path = address.file
        if path.is_dir():
            raise ReplayError("this is a folder", path=str(path), remedy="Name a file in it")
        return File(path, parse)

    return opened
