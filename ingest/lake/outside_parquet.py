"""A folder or a file of Parquet, as its readers see it: of a folder that Spark's file sink wrote, what it committed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from replay.errors import ReplayError, printable
from replay.guarantees.outside.addresses import Address
from replay.guarantees.outside.rows import Row, plain
from replay.model import read_json

_AT_ONCE = 1_000
_SINK_LOG = "_spark_metadata"
_BATCH = re.compile(r"([0-9]{1,18})(\.compact)?", re.ASCII)
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NONE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a table, in their order."""

    root: Path
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The folder's, or the file's."""
        return self.root.resolve().name

    def rows(self) -> Iterator[Row]:
        """File by file, batch by batch."""
        for path in self.files:
            at = f"{path.name}#" if len(self.files) > 1 else ""
            try:
                yield from self._of(path, at)
            except (OSError, pa.ArrowException) as fault:
                why = printable(str(fault))
                raise ReplayError(f"it can't be read as Parquet: {why}", path=str(path)) from fault

    def _of(self, path: Path, at: str) -> Iterator[Row]:
        partition = _partition(path.relative_to(self.root)) if path != self.root else {}
        number = 0
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_AT_ONCE):
                for found in batch.to_pylist():
                    number += 1
                    fields = found | partition
                    yield Row(f"{at}{number}", fields, plain(fields))


def _partition(path: Path) -> dict[str, Any]:
    """Columns that stand in names of folders, as `day=2026-11-19`."""
    found = (_PARTITION.fullmatch(one) for one in path.parts[:-1])
    return {unquote(one[1]): None if one[2] == _NONE else unquote(one[2]) for one in found if one}


def open_parquet(address: Address) -> Files:
    """A file; or a folder, without what is hidden in it, or what its sink did not commit."""
    path = address.file
    if not path.is_dir():
        return Files(path, (path,))
    log = path / _SINK_LOG
    files = _committed(path, log) if log.is_dir() else _visible(path)
    if not files and not log.is_dir():
        raise ReplayError("this folder holds no Parquet", path=str(path), remedy="Name the folder that the sink wrote")
    return Files(path, tuple(files))


def _visible(root: Path) -> list[Path]:
    """Names that begin with a dot or an underscore are no data's."""
    return sorted(
        path
        for path in root.rglob("*.parquet")
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    )


def _committed(root: Path, log: Path) -> list[Path]:
    """What the sink's log adds; a compacted log stands for all before it."""
    batches = {int(found[1]): path for path in log.iterdir() if (found := _BATCH.fullmatch(path.name))}
    compacted = max((number for number, path in batches.items() if path.suffix == ".compact"), default=0)
    names: dict[str, None] = {}
    for number in sorted(one for one in batches if one >= compacted):
        for name, added in _lines(batches[number]):
            if added:
                names[name] = None
            else:
                names.pop(name, None)
    return [_inside(root, log, name) for name in names]


def _lines(path: Path) -> Iterator[tuple[str, bool]]:
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        if number == 1 and line == b"v1":
            continue
        try:
            told = read_json(line)
            yield str(told["path"]), told.get("action") != "delete"
        except (ValueError, KeyError, TypeError, AttributeError):
            why = f"line {number} names no file that was committed"
            raise ReplayError(why, path=str(path), remedy=f"Copy {_SINK_LOG} again, whole") from None


def _inside(root: Path, log: Path, address: str) -> Path:
    """The folder may have been moved since; a file is looked for by how it lay in it, and nowhere else."""
    parts = Path(unquote(urlsplit(address).path)).parts
    for begin in range(1, len(parts)):
        path = root.joinpath(*parts[begin:])
        if ".." not in parts and path.is_file():
            return path
    raise ReplayError(
        f"{printable(address)} was committed and is not there", path=str(log), remedy="Copy the sink's folder whole"
    )
