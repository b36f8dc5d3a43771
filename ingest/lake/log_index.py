"""Where in which file the determinants of each log and epoch stand: Parquet files beside the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.lake.places import Place, readable
from ingest.lake.schema import table

KEY = ("task", "attempt", "thread", "epoch")
INDEX_GROUP_ROWS = 8_192
LOG_INDEX = table(
    "log-index",
    {
        "task": pa.string(),
        "attempt": pa.int64(),
        "thread": pa.string(),
        "epoch": pa.int64(),
        "path": pa.string(),
        "first_row": pa.int64(),
        "rows": pa.int64(),
        "offset": pa.int64(),
        "bytes": pa.int64(),
    },
    named="task thread path",
)
"""Not among the tables of a job: it says where their rows are. A log without determinants has a row with no path."""


def make_ready() -> None:
    """pyarrow looks for pandas when it makes its first value, which takes 0.2 s: at a server's start nobody waits."""
    pa.scalar(None)


@dataclass(frozen=True, slots=True)
class LogSpan:
    """Rows of one thread log's epoch: `rows` from `first_row` of a file, in order of seq; `bytes` from `offset`."""

    task: str
    attempt: int
    thread: str
    epoch: int
    path: str
    first_row: int
    rows: int
    offset: int
    bytes: int


class LogIndex:
    """Asked again and again for few logs of maybe a million: it reads the few rows among which the log must be."""

    def __init__(self, folder: Place, paths: Sequence[str]) -> None:
        self._files = [folder / path for path in paths]
        self.spans = lru_cache(maxsize=1024)(self._spans)

    def _spans(self, task: str, attempt: int, thread: str, epoch: int) -> tuple[LogSpan, ...]:
        """In order of seq."""
        key = dict(zip(KEY, (task, attempt, thread, epoch), strict=True))
        found = list[dict[str, Any]]()
        for group in self._groups:
            if all(group.least[name] <= value <= group.most[name] for name, value in key.items()):
                rows = pq.ParquetFile(readable(group.path), metadata=group.metadata).read_row_group(group.number)
                found += rows.filter(_all(pc.equal(rows[name], value) for name, value in key.items())).to_pylist()
        return tuple(LogSpan(**span) for span in found if span["rows"])

    def paths(self, task: str, attempt: int, thread: str, epoch: int) -> list[str]:
        """The files that hold a log's epoch; hardly ever more than one."""
        return list(dict.fromkeys(span.path for span in self.spans(task, attempt, thread, epoch)))

    @cached_property
    def _groups(self) -> list[_Group]:
        return [group for path in self._files for group in _groups_of(path)]


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group, and the least and greatest values of its key."""

    path: Place
    number: int
    metadata: pq.FileMetaData
    least: dict[str, Any]
    most: dict[str, Any]


def _groups_of(path: Place) -> Iterator[_Group]:
    metadata = pq.read_metadata(readable(path))
    for number in range(metadata.num_row_groups):
        columns = [metadata.row_group(number).column(n).statistics for n in range(len(KEY))]
        least, most = ({name: getattr(one, which) for name, one in zip(KEY, columns, strict=True)} for which in _BOUNDS)
        yield _Group(path, number, metadata, least, most)


_BOUNDS = ("min", "max")


def _all(masks: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    return reduce(pc.and_, masks)
